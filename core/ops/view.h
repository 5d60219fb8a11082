/* Rules of view.inc. Included by rows.h only. */
INFER(infer_cat)
INFER(infer_constant_pad)
INFER(infer_diag_embed) INFER(infer_flip) INFER(infer_pad_backward) INFER(infer_reflection_pad) INFER(infer_repeat) INFER(
    infer_repeat_interleave) INFER(infer_replication_pad) INFER(infer_roll) INFER(infer_triangle) INFER(infer_unfold_backward)
    VIEW(view_alias) VIEW(view_as_complex) VIEW(view_as_real) VIEW(view_as_strided) VIEW(view_conj) VIEW(
        view_diagonal) VIEW(view_dtype) VIEW(view_expand) VIEW(view_neg) VIEW(view_permute) VIEW(view_reshape_alias)
        VIEW(view_select) VIEW(view_slice) VIEW(view_squeeze) VIEW(view_squeeze_dim) VIEW(view_squeeze_dims) VIEW(
            view_t) VIEW(view_transpose) VIEW(view_unfold) VIEW(view_unsqueeze) VIEW(view_view) COMPOSE(compose_adjoint)
            COMPOSE(compose_alias_copy) COMPOSE(compose_as_strided_copy) COMPOSE(compose_as_strided_scatter) COMPOSE(
                compose_atleast_1d) COMPOSE(compose_atleast_2d) COMPOSE(compose_atleast_3d) COMPOSE(compose_block_diag)
                COMPOSE(compose_broadcast_tensors) COMPOSE(compose_broadcast_to) COMPOSE(compose_cartesian_prod) COMPOSE(
                    compose_cat) COMPOSE(compose_chunk) COMPOSE(compose_chunk_cat) COMPOSE(compose_column_stack)
                    COMPOSE(compose_combinations) COMPOSE(compose_concat) COMPOSE(compose_conj) COMPOSE(
                        compose_constant_pad) COMPOSE(compose_detach_) COMPOSE(compose_detach_copy) COMPOSE(compose_diag)
                        COMPOSE(compose_diag_embed) COMPOSE(compose_diagflat) COMPOSE(compose_diagonal_backward) COMPOSE(
                            compose_diagonal_copy) COMPOSE(compose_diagonal_scatter) COMPOSE(compose_dsplit)
                            COMPOSE(compose_dstack) COMPOSE(compose_expand_as) COMPOSE(compose_expand_copy) COMPOSE(
                                compose_flatten) COMPOSE(compose_flip) COMPOSE(compose_fliplr) COMPOSE(compose_flipud)
                                COMPOSE(compose_hsplit) COMPOSE(compose_hstack) COMPOSE(compose_imag) COMPOSE(
                                    compose_linalg_diagonal) COMPOSE(compose_mH) COMPOSE(compose_mT) COMPOSE(compose_matrix_H) COMPOSE(compose_meshgrid)
                                    COMPOSE(compose_movedim) COMPOSE(compose_movedim_int) COMPOSE(compose_narrow) COMPOSE(
                                        compose_narrow_copy) COMPOSE(compose_narrow_tensor) COMPOSE(compose_numpy_T)
                                        COMPOSE(compose_pad) COMPOSE(compose_permute_copy) COMPOSE(compose_ravel) COMPOSE(
                                            compose_real) COMPOSE(compose_reflection_pad) COMPOSE(compose_reflection_pad_backward) COMPOSE(compose_repeat)
                                            COMPOSE(compose_repeat_interleave) COMPOSE(compose_repeat_interleave_int) COMPOSE(compose_replication_pad) COMPOSE(
                                                compose_replication_pad_backward) COMPOSE(compose_reshape) COMPOSE(compose_reshape_as)
                                                COMPOSE(compose_resize_) COMPOSE(compose_resize_as_) COMPOSE(compose_resolve_conj) COMPOSE(
                                                    compose_resolve_neg) COMPOSE(compose_roll) COMPOSE(compose_rot90) COMPOSE(compose_select_backward)
                                                    COMPOSE(compose_select_copy) COMPOSE(compose_select_scatter) COMPOSE(
                                                        compose_set_) COMPOSE(compose_slice_backward) COMPOSE(compose_slice_copy) COMPOSE(compose_slice_scatter)
                                                        COMPOSE(compose_split) COMPOSE(compose_split_copy) COMPOSE(compose_split_with_sizes) COMPOSE(
                                                            compose_split_with_sizes_copy) COMPOSE(compose_squeeze_copy) COMPOSE(compose_squeeze_dim_copy)
                                                            COMPOSE(compose_squeeze_dims_copy) COMPOSE(compose_stack) COMPOSE(
                                                                compose_swapaxes) COMPOSE(compose_t_copy) COMPOSE(compose_tensor_split_indices) COMPOSE(compose_tensor_split_sections)
                                                                COMPOSE(compose_tile) COMPOSE(compose_trace_backward) COMPOSE(compose_transpose_copy) COMPOSE(compose_unbind) COMPOSE(
                                                                    compose_unbind_copy) COMPOSE(compose_unflatten) COMPOSE(compose_unfold_backward)
                                                                    COMPOSE(compose_unfold_copy) COMPOSE(compose_unsafe_view) COMPOSE(
                                                                        compose_unsqueeze_copy) COMPOSE(compose_view_as)
                                                                        COMPOSE(compose_view_copy) COMPOSE(compose_vsplit) COMPOSE(compose_vstack) GRADIENT(
                                                                            d_as_strided) GRADIENT(d_as_strided_scatter) GRADIENT(d_cat)
                                                                            GRADIENT(d_conj_view) GRADIENT(d_constant_pad) GRADIENT(
                                                                                d_diag_embed) GRADIENT(d_diagonal) GRADIENT(d_diagonal_backward)
                                                                                GRADIENT(d_diagonal_scatter) GRADIENT(d_flip) GRADIENT(
                                                                                    d_neg_view) GRADIENT(d_permute) GRADIENT(d_reflection_pad1d)
                                                                                    GRADIENT(d_reflection_pad1d_backward) GRADIENT(
                                                                                        d_reflection_pad2d) GRADIENT(d_reflection_pad2d_backward)
                                                                                        GRADIENT(d_reflection_pad3d) GRADIENT(
                                                                                            d_reflection_pad3d_backward) GRADIENT(d_repeat)
                                                                                            GRADIENT(d_replication_pad1d) GRADIENT(
                                                                                                d_replication_pad1d_backward) GRADIENT(d_replication_pad2d)
                                                                                                GRADIENT(d_replication_pad2d_backward) GRADIENT(
                                                                                                    d_replication_pad3d) GRADIENT(d_replication_pad3d_backward)
                                                                                                    GRADIENT(d_reshaped) GRADIENT(
                                                                                                        d_roll) GRADIENT(d_same)
                                                                                                        GRADIENT(d_select) GRADIENT(
                                                                                                            d_select_backward)
                                                                                                            GRADIENT(d_select_scatter) GRADIENT(
                                                                                                                d_slice) GRADIENT(d_slice_backward)
                                                                                                                GRADIENT(d_slice_scatter) GRADIENT(
                                                                                                                    d_t) GRADIENT(d_transpose)
                                                                                                                    GRADIENT(d_tril) GRADIENT(
                                                                                                                        d_triu) GRADIENT(d_unfold)
                                                                                                                        GRADIENT(
                                                                                                                            d_unfold_backward)
                                                                                                                            GRADIENT(
                                                                                                                                d_view_as_complex)
                                                                                                                                GRADIENT(
                                                                                                                                    d_view_as_real)
