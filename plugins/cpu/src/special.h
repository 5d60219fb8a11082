/* Special functions of one or two doubles, compiled once (kernels/special.c). Floats use them through doubles. */
#ifndef WICK_CPU_SPECIAL_H
#define WICK_CPU_SPECIAL_H

double cpu_lgamma(double x);
double cpu_digamma(double x);
double cpu_polygamma(int n, double x);
double cpu_zeta(double x, double q); /* Hurwitz */
double cpu_erfinv(double x);
double cpu_erfcx(double x);
double cpu_ndtri(double p);
double cpu_log_ndtr(double x);
double cpu_i0(double x);
double cpu_i0e(double x);
double cpu_i1(double x);
double cpu_i1e(double x);
double cpu_igamma(double a, double x);  /* regularized, lower */
double cpu_igammac(double a, double x); /* regularized, upper */

#endif
