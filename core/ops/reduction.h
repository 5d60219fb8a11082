/* Rules of reduction.inc. Included by rows.h only. */
INFER(infer_amax)
INFER(infer_aminmax)
INFER(infer_argmax) INFER(infer_bincount) INFER(infer_bucketize) INFER(infer_count_nonzero) INFER(infer_cummax) INFER(
    infer_cumsum) INFER(infer_histc) INFER(infer_isin) INFER(infer_kthvalue) INFER(infer_logcumsumexp)
    INFER(infer_logsumexp) INFER(infer_max_all) INFER(infer_max_dim) INFER(infer_mean) INFER(infer_median) INFER(
        infer_nansum) INFER(infer_prod) INFER(infer_safe_softmax) INFER(infer_searchsorted) INFER(infer_softmax)
        INFER(infer_softmax_backward) INFER(infer_sort) INFER(infer_sum) INFER(infer_topk) INFER(infer_truth) INFER(
            infer_unique) INFER(infer_unique_consecutive) INFER(infer_unique_dim) INFER(infer_var) INFER(infer_var_mean)
            INFER(infer_vector_norm) COMPOSE(compose_all) COMPOSE(compose_all_dim) COMPOSE(compose_allclose) COMPOSE(
                compose_aminmax) COMPOSE(compose_any) COMPOSE(compose_any_dim) COMPOSE(compose_argsort)
                COMPOSE(compose_argsort_stable) COMPOSE(compose_bucketize_scalar) COMPOSE(compose_corrcoef) COMPOSE(
                    compose_count_nonzero) COMPOSE(compose_cov) COMPOSE(compose_cumprod_backward)
                    COMPOSE(compose_cumulative_trapezoid_dx) COMPOSE(compose_cumulative_trapezoid_x) COMPOSE(
                        compose_diff) COMPOSE(compose_dist) COMPOSE(compose_equal) COMPOSE(compose_frobenius_norm)
                        COMPOSE(compose_isin_scalar) COMPOSE(compose_isin_scalar_tensor) COMPOSE(compose_linalg_norm) COMPOSE(
                            compose_log_softmax) COMPOSE(compose_log_softmax_backward) COMPOSE(compose_log_softmax_core)
                            COMPOSE(compose_logsumexp) COMPOSE(compose_matrix_norm) COMPOSE(compose_max_all) COMPOSE(
                                compose_mean) COMPOSE(compose_mean_dim) COMPOSE(compose_median) COMPOSE(compose_min_all)
                                COMPOSE(compose_msort) COMPOSE(compose_nanmean) COMPOSE(compose_nanmedian) COMPOSE(
                                    compose_nanquantile) COMPOSE(compose_nanquantile_scalar) COMPOSE(compose_nansum)
                                    COMPOSE(compose_norm) COMPOSE(compose_norm_dim) COMPOSE(
                                        compose_norm_dim_dtype) COMPOSE(compose_nuclear_norm) COMPOSE(compose_quantile)
                                        COMPOSE(compose_quantile_scalar) COMPOSE(compose_renorm) COMPOSE(
                                            compose_safe_softmax) COMPOSE(compose_searchsorted_scalar)
                                            COMPOSE(compose_selecting_backward) COMPOSE(compose_softmax) COMPOSE(
                                                compose_softmax_backward) COMPOSE(compose_softmax_core)
                                                COMPOSE(compose_sort) COMPOSE(compose_special_logsumexp) COMPOSE(
                                                    compose_std) COMPOSE(compose_std_all) COMPOSE(compose_std_dim)
                                                    COMPOSE(compose_std_mean) COMPOSE(compose_std_mean_all) COMPOSE(
                                                        compose_std_mean_dim) COMPOSE(compose_sum)
                                                        COMPOSE(compose_sum_to_size) COMPOSE(
                                                            compose_trapezoid_dx) COMPOSE(compose_trapezoid_x)
                                                            COMPOSE(compose_var) COMPOSE(compose_var_all) COMPOSE(
                                                                compose_var_dim) COMPOSE(compose_var_mean)
                                                                COMPOSE(compose_var_mean_all) COMPOSE(
                                                                    compose_var_mean_dim) COMPOSE(compose_vector_norm)
                                                                    GRADIENT(d_amax) GRADIENT(d_aminmax) GRADIENT(
                                                                        d_cummax) GRADIENT(d_cumprod) GRADIENT(d_cumsum)
                                                                        GRADIENT(d_dist) GRADIENT(d_kthvalue) GRADIENT(
                                                                            d_log_softmax) GRADIENT(d_logcumsumexp)
                                                                            GRADIENT(d_logsumexp) GRADIENT(
                                                                                d_max_all) GRADIENT(d_mean)
                                                                                GRADIENT(d_nansum) GRADIENT(d_norm) GRADIENT(
                                                                                    d_norm_dim) GRADIENT(d_prod)
                                                                                    GRADIENT(d_prod_dim) GRADIENT(
                                                                                        d_selecting_backward)
                                                                                        GRADIENT(d_softmax) GRADIENT(
                                                                                            d_sort) GRADIENT(d_std)
                                                                                            GRADIENT(d_std_mean) GRADIENT(
                                                                                                d_sum) GRADIENT(d_taken)
                                                                                                GRADIENT(d_topk) GRADIENT(
                                                                                                    d_var)
                                                                                                    GRADIENT(d_var_mean)
                                                                                                        GRADIENT(
                                                                                                            d_vector_norm)
