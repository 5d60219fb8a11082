/* The positions of wick/sdk/arguments.h are those of the schemas. */
#include <wick/sdk/arguments.h>

#include "core_test.h"

typedef struct position {
    const char *name;
    int at;
} position;

static void assert_positions(const char *op, const position *positions, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (wick_op_argument(wick_op_find(RT, op), positions[i].name) != positions[i].at)
            fail_msg("%s has no argument %s at %d", op, positions[i].name, positions[i].at);
}
#define ASSERT_POSITIONS(op, table) assert_positions(op, table, sizeof table / sizeof *table)

static void test_optimizers(void **state) {
    static const position adam[] = {
        {"self", WICK_OPTIM_SELF},
        {"grads", WICK_OPTIM_GRADS},
        {"exp_avgs", WICK_ADAM_EXP_AVGS},
        {"exp_avg_sqs", WICK_ADAM_EXP_AVG_SQS},
        {"max_exp_avg_sqs", WICK_ADAM_MAX_EXP_AVG_SQS},
        {"state_steps", WICK_ADAM_STEPS},
        {"lr", WICK_ADAM_LR},
        {"beta1", WICK_ADAM_BETA1},
        {"beta2", WICK_ADAM_BETA2},
        {"weight_decay", WICK_ADAM_WEIGHT_DECAY},
        {"eps", WICK_ADAM_EPS},
        {"amsgrad", WICK_ADAM_AMSGRAD},
        {"maximize", WICK_ADAM_MAXIMIZE},
        {"grad_scale", WICK_ADAM_GRAD_SCALE},
        {"found_inf", WICK_ADAM_FOUND_INF},
    };
    static const position sgd[] = {
        {"self", WICK_OPTIM_SELF},
        {"grads", WICK_OPTIM_GRADS},
        {"momentum_buffer_list", WICK_SGD_BUFFERS},
        {"weight_decay", WICK_SGD_WEIGHT_DECAY},
        {"momentum", WICK_SGD_MOMENTUM},
        {"lr", WICK_SGD_LR},
        {"dampening", WICK_SGD_DAMPENING},
        {"nesterov", WICK_SGD_NESTEROV},
        {"maximize", WICK_SGD_MAXIMIZE},
        {"is_first_step", WICK_SGD_IS_FIRST_STEP},
        {"grad_scale", WICK_SGD_GRAD_SCALE},
        {"found_inf", WICK_SGD_FOUND_INF},
    };
    ASSERT_POSITIONS("_fused_adam_", adam);
    ASSERT_POSITIONS("_fused_adamw_", adam);
    ASSERT_POSITIONS("_fused_sgd_", sgd);
}

#define CONVOLUTION(first)                                                                              \
    {                                                                                                   \
        {"stride", first + WICK_CONV_STRIDE}, {"padding", first + WICK_CONV_PADDING},                   \
            {"dilation", first + WICK_CONV_DILATION}, {"transposed", first + WICK_CONV_TRANSPOSED},     \
            {"output_padding", first + WICK_CONV_OUTPUT_PADDING}, {"groups", first + WICK_CONV_GROUPS}, \
    }
static void test_convolutions(void **state) {
    static const position forward[] = CONVOLUTION((int)WICK_CONV_FIRST);
    static const position backward[] = CONVOLUTION((int)WICK_CONV_BACKWARD_FIRST);
    ASSERT_POSITIONS("convolution", forward);
    ASSERT_POSITIONS("convolution_backward", backward);
}

#define BATCH_NORM(op, mean, var, training, momentum, eps, always)                                         \
    {                                                                                                      \
        const position positions[] = {{"running_mean", mean},                                              \
                                      {"running_var", var},                                                \
                                      {"training", training},                                              \
                                      {"momentum", momentum},                                              \
                                      {"eps", eps}};                                                       \
        for (size_t i = 0; i < sizeof positions / sizeof *positions; ++i) { /* 0: the operator has none */ \
            const position *p = &positions[i];                                                             \
            assert_int_equal(wick_op_argument(wick_op_find(RT, op), p->name), p->at ? p->at : -1);         \
        }                                                                                                  \
    }
static void test_batch_norms(void **state) { WICK_BATCH_NORMS(BATCH_NORM) }

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_optimizers),
        CASE(test_convolutions),
        CASE(test_batch_norms),
    };
    return RUN(tests);
}
