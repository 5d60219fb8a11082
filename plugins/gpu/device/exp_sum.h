/* A maximum and the sum of exp(x - maximum), for any part of a row: what softmax and cross entropy need. */
#ifndef WICK_GPU_EXP_SUM_H
#define WICK_GPU_EXP_SUM_H

#include "rows.h"

template <class C> struct exp_sum { C top, sum; };
/* exp(x - top), where there is nothing above -inf: 0. */
template <class C> GPU_FN C exp_below(C x, C top) {
    return top == lowest<C>() ? (x == x ? C(0) : x) : real_exp(x - top);
}
struct join_exp_sums {
    template <class C> GPU_MEMBER exp_sum<C> operator()(const exp_sum<C> &a, const exp_sum<C> &b) const {
        C top = op_higher()(a.top, b.top);
        return exp_sum<C>{top, a.sum * exp_below(a.top, top) + b.sum * exp_below(b.top, top)};
    }
};
/* Several accesses of elements at once: the sum so far is scaled once for all of them. */
template <int N, class C> GPU_FN void add_exps(exp_sum<C> &s, const C (&x)[N]) {
    C top = s.top, sum = 0;
    GPU_UNROLL
    for (int j = 0; j < N; ++j) top = op_higher()(top, x[j]);
    const C shift = top == lowest<C>() ? C(0) : top;
    GPU_UNROLL
    for (int j = 0; j < N; ++j) sum += real_exp(x[j] - shift);
    if (top != s.top) s.sum *= s.top == lowest<C>() ? C(1) : real_exp(s.top - shift);
    s.sum += sum;
    s.top = top;
}

#endif
