/* Rules of nn.inc. Included by rows.h only. */
INFER(infer_adaptive_max_pool2d)
INFER(infer_adaptive_max_pool3d)
INFER(infer_adaptive_pool2d) INFER(infer_adaptive_pool3d) INFER(infer_avg_pool2d) INFER(infer_avg_pool3d) INFER(infer_batch_norm) INFER(infer_batch_norm_backward) INFER(
    infer_batch_norm_inference) INFER(infer_batch_norm_no_stats) INFER(infer_batch_norm_update) INFER(infer_col2im) INFER(infer_convolution) INFER(infer_convolution_backward) INFER(infer_fractional_pool2d) INFER(infer_fractional_pool3d) INFER(infer_grid_sampler_2d) INFER(infer_grid_sampler_2d_backward) INFER(infer_grid_sampler_3d) INFER(infer_grid_sampler_3d_backward) INFER(infer_group_norm) INFER(infer_group_norm_backward) INFER(infer_im2col) INFER(infer_layer_norm)
    INFER(infer_layer_norm_backward) INFER(infer_loss) INFER(infer_loss_backward) INFER(infer_max_pool2d) INFER(infer_max_pool3d) INFER(infer_max_unpool2d) INFER(infer_max_unpool3d) INFER(
        infer_nll_loss) INFER(infer_nll_loss2d) INFER(infer_nll_loss2d_backward) INFER(infer_nll_loss_backward) INFER(infer_pool_backward) INFER(infer_rms_norm) INFER(infer_rms_norm_backward) INFER(infer_upsample1d) INFER(infer_upsample1d_backward) INFER(infer_upsample2d)
        INFER(infer_upsample2d_backward) INFER(infer_upsample3d) INFER(infer_upsample3d_backward) COMPOSE(compose__upsample_bicubic2d_aa_vec) COMPOSE(compose__upsample_bilinear2d_aa_vec) COMPOSE(compose__upsample_nearest_exact1d_vec) COMPOSE(compose__upsample_nearest_exact2d_vec) COMPOSE(compose__upsample_nearest_exact3d_vec) COMPOSE(compose_adaptive_avg_pool1d) COMPOSE(compose_adaptive_avg_pool2d) COMPOSE(compose_adaptive_avg_pool3d) COMPOSE(compose_adaptive_max_pool1d) COMPOSE(compose_affine_grid) COMPOSE(compose_affine_grid_backward) COMPOSE(compose_avg_pool1d) COMPOSE(compose_batch_norm) COMPOSE(compose_batch_norm_backward) COMPOSE(compose_batch_norm_inference) COMPOSE(compose_batch_norm_no_stats) COMPOSE(compose_batch_norm_update) COMPOSE(
            compose_bce_with_logits) COMPOSE(compose_binary_cross_entropy) COMPOSE(compose_binary_cross_entropy_backward) COMPOSE(compose_channel_shuffle) COMPOSE(compose_conv1d) COMPOSE(compose_conv1d_padding) COMPOSE(compose_conv2d) COMPOSE(compose_conv2d_padding) COMPOSE(compose_conv3d) COMPOSE(compose_conv3d_padding) COMPOSE(compose_conv_transpose1d) COMPOSE(compose_conv_transpose2d)
            COMPOSE(compose_conv_transpose3d) COMPOSE(compose_convolution) COMPOSE(compose_convolution_backward) COMPOSE(compose_cosine_embedding_loss) COMPOSE(compose_cross_entropy_loss) COMPOSE(
                compose_ctc) COMPOSE(compose_ctc_backward) COMPOSE(compose_ctc_loss) COMPOSE(compose_ctc_loss_lengths) COMPOSE(compose_grid_sampler) COMPOSE(compose_group_norm)
                COMPOSE(compose_group_norm_backward) COMPOSE(compose_group_norm_core) COMPOSE(compose_gru) COMPOSE(compose_gru_cell) COMPOSE(
                    compose_hinge_embedding_loss) COMPOSE(compose_huber_loss) COMPOSE(compose_huber_loss_backward)
                    COMPOSE(compose_instance_norm) COMPOSE(compose_kl_div) COMPOSE(
                        compose_l1_loss) COMPOSE(compose_layer_norm) COMPOSE(compose_layer_norm_backward) COMPOSE(compose_layer_norm_core)
                        COMPOSE(compose_lstm) COMPOSE(compose_lstm_cell) COMPOSE(compose_margin_ranking_loss) COMPOSE(compose_max_pool1d) COMPOSE(
                            compose_max_pool1d_with_indices) COMPOSE(compose_max_pool2d) COMPOSE(compose_max_pool3d)
                            COMPOSE(compose_mse_loss) COMPOSE(
                                compose_mse_loss_backward) COMPOSE(compose_multi_margin_loss) COMPOSE(compose_multi_margin_loss_backward) COMPOSE(compose_multilabel_margin_loss) COMPOSE(compose_multilabel_margin_loss_backward) COMPOSE(compose_multilabel_margin_loss_forward) COMPOSE(compose_native_batch_norm) COMPOSE(compose_native_batch_norm_backward) COMPOSE(compose_nll_loss) COMPOSE(compose_nll_loss2d) COMPOSE(compose_nll_loss_backward) COMPOSE(compose_nll_loss_forward) COMPOSE(compose_nll_loss_nd) COMPOSE(compose_pixel_shuffle) COMPOSE(compose_pixel_unshuffle) COMPOSE(compose_poisson_nll_loss) COMPOSE(compose_rms_norm) COMPOSE(compose_rms_norm_backward) COMPOSE(compose_rms_norm_core)
                                COMPOSE(compose_rnn_relu) COMPOSE(compose_rnn_relu_cell) COMPOSE(compose_rnn_tanh) COMPOSE(compose_rnn_tanh_cell) COMPOSE(compose_smooth_l1_loss) COMPOSE(
                                    compose_smooth_l1_loss_backward) COMPOSE(compose_soft_margin_loss) COMPOSE(compose_soft_margin_loss_backward)
                                    COMPOSE(compose_triplet_margin_loss) COMPOSE(compose_upsample_bicubic2d_vec) COMPOSE(compose_upsample_bilinear2d_vec) COMPOSE(
                                        compose_upsample_linear1d_vec) COMPOSE(compose_upsample_nearest1d_vec) COMPOSE(compose_upsample_nearest2d_vec) COMPOSE(compose_upsample_nearest3d_vec)
                                        COMPOSE(compose_upsample_trilinear3d_vec) COMPOSE(compose_weight_norm) COMPOSE(compose_weight_norm_backward) COMPOSE(
                                            compose_weight_norm_core) GRADIENT(d__upsample_bicubic2d_aa) GRADIENT(d__upsample_bicubic2d_aa_backward) GRADIENT(d__upsample_bilinear2d_aa)
                                            GRADIENT(d__upsample_bilinear2d_aa_backward) GRADIENT(d__upsample_nearest_exact1d) GRADIENT(
                                                d__upsample_nearest_exact1d_backward) GRADIENT(d__upsample_nearest_exact2d)
                                                GRADIENT(d__upsample_nearest_exact2d_backward) GRADIENT(d__upsample_nearest_exact3d) GRADIENT(
                                                    d__upsample_nearest_exact3d_backward) GRADIENT(d_adaptive_avg_pool2d)
                                                    GRADIENT(d_adaptive_avg_pool2d_backward) GRADIENT(d_adaptive_avg_pool3d) GRADIENT(
                                                        d_adaptive_avg_pool3d_backward) GRADIENT(d_adaptive_max_pool2d)
                                                        GRADIENT(d_adaptive_max_pool2d_backward) GRADIENT(d_adaptive_max_pool3d) GRADIENT(
                                                            d_adaptive_max_pool3d_backward) GRADIENT(d_avg_pool2d) GRADIENT(d_avg_pool2d_backward)
                                                            GRADIENT(d_avg_pool3d) GRADIENT(d_avg_pool3d_backward) GRADIENT(
                                                                d_batch_norm) GRADIENT(d_batch_norm_inference) GRADIENT(d_batch_norm_no_stats)
                                                                GRADIENT(d_batch_norm_update) GRADIENT(d_binary_cross_entropy) GRADIENT(
                                                                    d_col2im) GRADIENT(d_convolution) GRADIENT(d_ctc_loss)
                                                                    GRADIENT(d_fractional_max_pool2d) GRADIENT(
                                                                        d_fractional_max_pool2d_backward) GRADIENT(d_fractional_max_pool3d)
                                                                        GRADIENT(d_fractional_max_pool3d_backward) GRADIENT(d_grid_sampler_2d) GRADIENT(
                                                                            d_grid_sampler_3d) GRADIENT(d_group_norm)
                                                                            GRADIENT(d_huber_loss) GRADIENT(d_im2col) GRADIENT(
                                                                                d_layer_norm) GRADIENT(d_max_pool2d) GRADIENT(d_max_pool2d_backward)
                                                                                GRADIENT(d_max_pool3d) GRADIENT(d_max_pool3d_backward) GRADIENT(
                                                                                    d_max_unpool2d) GRADIENT(d_max_unpool3d)
                                                                                    GRADIENT(d_mse_loss) GRADIENT(d_nll_loss) GRADIENT(
                                                                                        d_nll_loss2d) GRADIENT(d_nll_loss2d_backward)
                                                                                        GRADIENT(d_nll_loss_backward) GRADIENT(
                                                                                            d_rms_norm) GRADIENT(d_smooth_l1_loss)
                                                                                            GRADIENT(d_soft_margin_loss) GRADIENT(
                                                                                                d_upsample_bicubic2d) GRADIENT(d_upsample_bicubic2d_backward)
                                                                                                GRADIENT(
                                                                                                    d_upsample_bilinear2d) GRADIENT(d_upsample_bilinear2d_backward)
                                                                                                    GRADIENT(d_upsample_linear1d) GRADIENT(
                                                                                                        d_upsample_linear1d_backward)
                                                                                                        GRADIENT(d_upsample_nearest1d) GRADIENT(
                                                                                                            d_upsample_nearest1d_backward)
                                                                                                            GRADIENT(d_upsample_nearest2d) GRADIENT(
                                                                                                                d_upsample_nearest2d_backward)
                                                                                                                GRADIENT(
                                                                                                                    d_upsample_nearest3d)
                                                                                                                    GRADIENT(
                                                                                                                        d_upsample_nearest3d_backward)
                                                                                                                        GRADIENT(
                                                                                                                            d_upsample_trilinear3d)
                                                                                                                            GRADIENT(
                                                                                                                                d_upsample_trilinear3d_backward)
