/* Rules of pointwise.inc. Included by rows.h only. */
INFER(infer_activation)
INFER(infer_add)
INFER(infer_addcdiv) INFER(infer_addcmul) INFER(infer_clamp) INFER(infer_complex) INFER(infer_div_mode) INFER(
    infer_floating) INFER(infer_floating_any) INFER(infer_frexp) INFER(infer_glu) INFER(infer_glu_backward)
    INFER(infer_heaviside) INFER(infer_integral) INFER(infer_lerp) INFER(infer_log_sigmoid) INFER(
        infer_log_sigmoid_backward) INFER(infer_masked_fill) INFER(infer_not_complex) INFER(infer_order)
        INFER(infer_pow_scalar) INFER(infer_prelu_backward) INFER(infer_signed) INFER(infer_sub) INFER(
            infer_test_real) INFER(infer_where) COMPOSE(compose_absolute) COMPOSE(compose_add_scalar) COMPOSE(compose_arctan2)
            COMPOSE(compose_bitwise_and_scalar) COMPOSE(compose_bitwise_left_shift_tensor_scalar) COMPOSE(
                compose_bitwise_or_scalar) COMPOSE(compose_bitwise_right_shift_tensor_scalar) COMPOSE(compose_bitwise_xor_scalar) COMPOSE(compose_clip) COMPOSE(compose_clip_tensor) COMPOSE(compose_copysign_scalar) COMPOSE(compose_div_scalar) COMPOSE(compose_div_scalar_mode) COMPOSE(compose_divide_tensor) COMPOSE(compose_eq_scalar) COMPOSE(compose_fix) COMPOSE(compose_float_power_scalar) COMPOSE(compose_float_power_tensor_scalar) COMPOSE(compose_float_power_tensor_tensor) COMPOSE(compose_floor_divide) COMPOSE(compose_floor_divide_scalar) COMPOSE(compose_fmod_scalar) COMPOSE(compose_ge_scalar) COMPOSE(compose_gt_scalar) COMPOSE(compose_isclose) COMPOSE(compose_isfinite) COMPOSE(compose_isreal) COMPOSE(compose_ldexp_tensor) COMPOSE(compose_le_scalar) COMPOSE(compose_log_sigmoid) COMPOSE(compose_lt_scalar) COMPOSE(compose_masked_fill_scalar) COMPOSE(compose_masked_fill_tensor)
                COMPOSE(compose_max_other) COMPOSE(compose_min_other) COMPOSE(compose_glu) COMPOSE(compose_glu_backward) COMPOSE(
                    compose_prelu_kernel_backward) COMPOSE(compose_mul_scalar) COMPOSE(compose_multiply_tensor) COMPOSE(compose_mvlgamma)
                    COMPOSE(compose_ne_scalar) COMPOSE(compose_negative) COMPOSE(compose_positive) COMPOSE(compose_pow_scalar) COMPOSE(compose_prelu) COMPOSE(
                        compose_relu6) COMPOSE(compose_remainder_scalar) COMPOSE(compose_remainder_scalar_tensor) COMPOSE(compose_rsub_scalar)
                        COMPOSE(compose_selu) COMPOSE(compose_special_expit) COMPOSE(compose_special_ndtr) COMPOSE(compose_special_xlog1py_other_scalar) COMPOSE(
                            compose_special_xlog1py_self_scalar) COMPOSE(compose_square) COMPOSE(compose_sub_scalar)
                            COMPOSE(compose_subtract_tensor) COMPOSE(compose_true_divide_scalar) COMPOSE(compose_true_divide_tensor) COMPOSE(
                                compose_where) COMPOSE(compose_where_scalar) COMPOSE(compose_where_scalarother)
                                COMPOSE(compose_where_scalarself) COMPOSE(compose_xlogy_scalar_other) COMPOSE(compose_xlogy_scalar_self) GRADIENT(d_abs) GRADIENT(
                                    d_acos) GRADIENT(d_acosh) GRADIENT(d_add) GRADIENT(d_addcdiv) GRADIENT(d_addcmul) GRADIENT(d_angle) GRADIENT(d_asin)
                                    GRADIENT(d_asinh) GRADIENT(d_atan) GRADIENT(d_atan2) GRADIENT(d_atanh) GRADIENT(
                                        d_celu) GRADIENT(d_clamp) GRADIENT(d_clamp_max) GRADIENT(d_clamp_max_tensor) GRADIENT(d_clamp_min)
                                        GRADIENT(d_clamp_min_tensor) GRADIENT(d_clamp_tensor) GRADIENT(d_complex) GRADIENT(d_conj) GRADIENT(
                                            d_copysign) GRADIENT(d_cos) GRADIENT(d_cosh) GRADIENT(d_deg2rad) GRADIENT(d_digamma) GRADIENT(d_div)
                                            GRADIENT(d_div_mode) GRADIENT(d_elu) GRADIENT(d_elu_backward) GRADIENT(d_erf) GRADIENT(d_erfc) GRADIENT(
                                                d_erfinv) GRADIENT(d_exp) GRADIENT(d_exp2) GRADIENT(d_expm1)
                                                GRADIENT(d_fmax) GRADIENT(d_fmin) GRADIENT(d_fmod) GRADIENT(d_frexp) GRADIENT(
                                                    d_gelu) GRADIENT(d_gelu_backward) GRADIENT(d_glu) GRADIENT(d_hardshrink) GRADIENT(d_hardsigmoid)
                                                    GRADIENT(d_hardsigmoid_backward) GRADIENT(d_hardswish) GRADIENT(d_hardswish_backward) GRADIENT(
                                                        d_hardtanh) GRADIENT(d_hardtanh_backward) GRADIENT(d_hypot)
                                                        GRADIENT(d_i0) GRADIENT(d_igamma) GRADIENT(d_igammac) GRADIENT(
                                                            d_leaky_relu) GRADIENT(d_leaky_relu_backward) GRADIENT(d_lerp) GRADIENT(d_lerp_scalar)
                                                            GRADIENT(d_lgamma) GRADIENT(d_log) GRADIENT(d_log10) GRADIENT(d_log1p) GRADIENT(
                                                                d_log2) GRADIENT(d_log_sigmoid) GRADIENT(d_log_sigmoid_backward) GRADIENT(d_logaddexp)
                                                                GRADIENT(d_logaddexp2) GRADIENT(d_logit) GRADIENT(d_masked_fill) GRADIENT(
                                                                    d_masked_fill_scalar) GRADIENT(d_maximum) GRADIENT(d_minimum)
                                                                    GRADIENT(d_mish) GRADIENT(d_mish_backward) GRADIENT(d_mul) GRADIENT(
                                                                        d_nan_to_num) GRADIENT(d_neg) GRADIENT(d_pass) GRADIENT(d_polar)
                                                                        GRADIENT(d_polygamma) GRADIENT(d_pow) GRADIENT(d_pow_scalar) GRADIENT(
                                                                            d_prelu) GRADIENT(d_prelu_backward) GRADIENT(d_rad2deg)
                                                                            GRADIENT(d_reciprocal) GRADIENT(
                                                                                d_relu) GRADIENT(d_remainder) GRADIENT(d_rsqrt)
                                                                                GRADIENT(d_rsub) GRADIENT(d_sgn) GRADIENT(
                                                                                    d_shrink_backward) GRADIENT(d_sigmoid)
                                                                                    GRADIENT(d_sigmoid_backward) GRADIENT(d_silu) GRADIENT(
                                                                                        d_silu_backward) GRADIENT(d_sin) GRADIENT(d_sinc)
                                                                                        GRADIENT(d_sinh) GRADIENT(d_softplus) GRADIENT(
                                                                                            d_softplus_backward) GRADIENT(d_softshrink)
                                                                                            GRADIENT(d_special_entr) GRADIENT(
                                                                                                d_special_erfcx) GRADIENT(d_special_i0e)
                                                                                                GRADIENT(d_special_i1) GRADIENT(
                                                                                                    d_special_i1e) GRADIENT(d_special_log_ndtr)
                                                                                                    GRADIENT(d_special_ndtri) GRADIENT(
                                                                                                        d_special_xlog1py) GRADIENT(d_special_zeta)
                                                                                                        GRADIENT(d_sqrt) GRADIENT(
                                                                                                            d_sub) GRADIENT(d_tan)
                                                                                                            GRADIENT(d_tanh) GRADIENT(
                                                                                                                d_tanh_backward)
                                                                                                                GRADIENT(d_threshold) GRADIENT(
                                                                                                                    d_threshold_backward)
                                                                                                                    GRADIENT(
                                                                                                                        d_where)
                                                                                                                        GRADIENT(
                                                                                                                            d_xlogy)
                                                                                                                            GRADIENT(
                                                                                                                                d_zero)
    /* A number as a 0-dim host tensor that is weak in type promotion. Scope-owned. */
    wick_tensor *wrap_number(wick_context *c, const wick_value *v);
