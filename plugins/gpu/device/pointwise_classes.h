/* PW_R_RIC(x) is x, PW_R_IB(x) nothing: does a row of pointwise.inc hold for real floating numbers, for integers (bools
 * are computed as integers)? Complex classes have no GPU kernels yet. */
#ifndef WICK_GPU_POINTWISE_CLASSES_H
#define WICK_GPU_POINTWISE_CLASSES_H

#define PW_R_R(...) __VA_ARGS__
#define PW_R_RI(...) __VA_ARGS__
#define PW_R_RC(...) __VA_ARGS__
#define PW_R_RIC(...) __VA_ARGS__
#define PW_R_RIB(...) __VA_ARGS__
#define PW_R_RICB(...) __VA_ARGS__
#define PW_R_I(...)
#define PW_R_IB(...)

#define PW_I_R(...)
#define PW_I_RC(...)
#define PW_I_I(...) __VA_ARGS__
#define PW_I_RI(...) __VA_ARGS__
#define PW_I_IB(...) __VA_ARGS__
#define PW_I_RIC(...) __VA_ARGS__
#define PW_I_RIB(...) __VA_ARGS__
#define PW_I_RICB(...) __VA_ARGS__

#endif
