/* Special functions in double precision (special.h), domain rules as PyTorch's. Series where all terms have one sign,
 * asymptotic expansions and continued fractions elsewhere; every one stays well inside a relative error of 1e-12. */
#include "special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define PI 3.14159265358979323846
#define SQRT_2PI 2.50662827463100050242
#define SQRT_PI 1.77245385090551602730
#define SQRT_1_2 0.70710678118654752440
#define MAX_TERMS 2000

/* The value of sum c[i] x^(n - 1 - i). */
static double polynomial(double x, const double *c, int n) {
    double p = c[0];
    for (int i = 1; i < n; ++i) p = p * x + c[i];
    return p;
}
#define POLYNOMIAL(x, c) polynomial((x), (c), (int)(sizeof(c) / sizeof(c)[0]))

/* ---- the gamma family ---- */
double cpu_lgamma(double x) {
    int sign; /* lgamma() would write a global */
    return lgamma_r(x, &sign);
}

double cpu_digamma(double x) {
    /* B_2k / 2k, highest first */
    static const double bernoulli[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                       1.0 / 252, -1.0 / 120,     1.0 / 12};
    double result = 0;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        if (x == floor(x)) return NAN;
        double whole; /* tan's argument is reduced first: pi x is not exact */
        result = -PI / tan(PI * modf(x, &whole));
        x = 1 - x;
    }
    for (; x < 10; ++x) result -= 1 / x;
    double z = 1 / (x * x), tail = x < 1e17 ? z * POLYNOMIAL(z, bernoulli) : 0;
    return result + log(x) - 0.5 / x - tail;
}

static double trigamma(double x) {
    double sign = 1, result = 0;
    if (x < 0.5) {
        double s = sin(PI * x);
        sign = -1, result = -PI * PI / (s * s);
        x = 1 - x;
    }
    for (; x < 10; ++x) result += 1 / (x * x);
    static const double bernoulli[] = {-691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6};
    double z = 1 / (x * x);
    result += (1 + 0.5 / x + z * POLYNOMIAL(z, bernoulli)) / x;
    return sign * result;
}

double cpu_polygamma(int n, double x) {
    if (n == 0) return cpu_digamma(x);
    if (n == 1) return trigamma(x);
    return (n % 2 ? 1.0 : -1.0) * exp(cpu_lgamma(n + 1.0)) * cpu_zeta(n + 1.0, x);
}

/* Nine terms, then Euler and Maclaurin's expansion of the rest. */
double cpu_zeta(double x, double q) {
    static const double factorial_over_bernoulli[] = {12.0,
                                                      -720.0,
                                                      30240.0,
                                                      -1209600.0,
                                                      47900160.0,
                                                      -1.8924375803183791606e9,
                                                      7.47242496e10,
                                                      -2.950130727918164224e12,
                                                      1.1646782814350067249e14,
                                                      -4.5979787224074726105e15,
                                                      1.8152105401943546773e17,
                                                      -7.1661652561756670113e18};
    if (x == 1) return INFINITY;
    if (x < 1) return NAN;
    if (q <= 0) {
        if (q == floor(q)) return INFINITY;
        if (x != floor(x)) return NAN; /* q^-x is not real */
    }
    double sum = pow(q, -x), a = q, b = 0;
    for (int i = 0; i < 9 || a <= 9; ++i) {
        a += 1;
        b = pow(a, -x);
        sum += b;
        if (-DBL_EPSILON * sum < b && b < DBL_EPSILON * sum) return sum;
    }
    sum += b * a / (x - 1) - 0.5 * b;
    double factor = 1, k = 0;
    for (int i = 0; i < 12; ++i) {
        factor *= x + k;
        b /= a;
        double term = factor * b / factorial_over_bernoulli[i];
        sum += term;
        if (fabs(term / sum) < DBL_EPSILON) break;
        k += 1;
        factor *= x + k;
        b /= a;
        k += 1;
    }
    return sum;
}

/* x^a e^-x / Gamma(a) */
static double igamma_factor(double a, double x) { return exp(a * log(x) - x - cpu_lgamma(a)); }

static double igamma_series(double a, double x) {
    double term = 1 / a, sum = term;
    for (int i = 1; i < MAX_TERMS && term > sum * DBL_EPSILON; ++i) {
        term *= x / (a + i);
        sum += term;
    }
    return sum * igamma_factor(a, x);
}

/* Lentz's way of evaluating the continued fraction of the upper function. */
static double igammac_fraction(double a, double x) {
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, h = d;
    for (int i = 1; i < MAX_TERMS; ++i) {
        double n = -i * (i - a);
        b += 2;
        d = n * d + b, c = b + n / c;
        d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d), c = fabs(c) < DBL_MIN ? DBL_MIN : c;
        h *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON) break;
    }
    return h * igamma_factor(a, x);
}

/* The values at the edges of the domain; false inside. */
static bool igamma_edge(double a, double x, double *lower) {
    if (x != x || a != a || x < 0 || a < 0 || (a == 0 && x == 0) || (isinf(a) && isinf(x)))
        *lower = NAN;
    else if (a == 0 || isinf(x))
        *lower = 1;
    else if (x == 0 || isinf(a))
        *lower = 0;
    else
        return false;
    return true;
}

double cpu_igamma(double a, double x) {
    double value;
    if (igamma_edge(a, x, &value)) return value;
    return x < a + 1 ? igamma_series(a, x) : 1 - igammac_fraction(a, x);
}

double cpu_igammac(double a, double x) {
    double value;
    if (igamma_edge(a, x, &value)) return 1 - value;
    return x < a + 1 ? 1 - igamma_series(a, x) : igammac_fraction(a, x);
}

/* ---- the normal distribution ---- */
/* A rational guess, then two steps of Newton. */
double cpu_erfinv(double y) {
    static const double a[] = {-0.140543331, 0.914624893, -1.645349621, 0.886226899};
    static const double b[] = {0.012229801, -0.329097515, 1.442710462, -2.118377725, 1};
    static const double c[] = {1.641345311, 3.429567803, -1.624906493, -1.970840454};
    static const double d[] = {1.637067800, 3.543889200, 1};
    double t = fabs(y), x;
    if (t > 1 || y != y) return NAN;
    if (t == 1) return copysign(INFINITY, y);
    if (t <= 0.7) {
        x = y * POLYNOMIAL(y * y, a) / POLYNOMIAL(y * y, b);
    } else {
        double z = sqrt(-log((1 - t) / 2));
        x = copysign(POLYNOMIAL(z, c) / POLYNOMIAL(z, d), y);
    }
    for (int i = 0; i < 2; ++i) x -= (erf(x) - y) / (2 / SQRT_PI * exp(-x * x));
    return x;
}

/* exp(x^2) erfc(x) */
double cpu_erfcx(double x) {
    if (x > 25) {
        double z = 0.5 / (x * x), sum = 1 - z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z)));
        return sum / (x * SQRT_PI);
    }
    double square = x * x, lost = fma(x, x, -square);
    return square > 720 ? INFINITY : exp(square) * (1 + lost) * erfc(x);
}

/* The quantile of p <= 1/2: Acklam's rational guess, then one step of Halley. */
static double lower_quantile(double p) {
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                               1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                               6.680131188771972e+01,  -1.328068155288572e+01, 1};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                               -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00, 1};
    double x;
    if (p < 0.02425) {
        double q = sqrt(-2 * log(p));
        x = POLYNOMIAL(q, c) / POLYNOMIAL(q, d);
    } else {
        double q = p - 0.5;
        x = q * POLYNOMIAL(q * q, a) / POLYNOMIAL(q * q, b);
    }
    if (p < DBL_MIN) return x;
    double u = (0.5 * erfc(-x * SQRT_1_2) - p) * SQRT_2PI * exp(0.5 * x * x);
    return x - u / (1 + 0.5 * x * u);
}

double cpu_ndtri(double p) {
    if (!(p >= 0 && p <= 1)) return NAN;
    if (p == 0) return -INFINITY;
    if (p == 1) return INFINITY;
    return p <= 0.5 ? lower_quantile(p) : -lower_quantile(1 - p);
}

double cpu_log_ndtr(double x) {
    double t = x * SQRT_1_2;
    return x < -1 ? log(cpu_erfcx(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}

/* ---- modified Bessel functions of order 0 and 1, times exp(-|x|) ---- */
#define BESSEL_FAR 30 /* from here on the asymptotic expansion is exact to the last bit */

static double bessel_near(int order, double x) {
    double z = x * x / 4, term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < MAX_TERMS && term > sum * (DBL_EPSILON / 4); ++k) {
        term *= z / ((double)k * (k + order));
        sum += term;
    }
    return sum;
}

static double bessel_far_scaled(int order, double x) {
    double mu = 4.0 * order * order, term = 1, sum = 1;
    for (int k = 1; k < MAX_TERMS && fabs(term) > DBL_EPSILON / 4; ++k) {
        double odd = 2 * k - 1;
        term *= -(mu - odd * odd) / (8 * k * x);
        sum += term;
    }
    return sum / sqrt(2 * PI * x);
}

static double bessel_scaled(int order, double x) {
    return x < BESSEL_FAR ? bessel_near(order, x) * exp(-x) : isinf(x) ? 0 : bessel_far_scaled(order, x);
}

static double bessel(int order, double x) {
    if (x < BESSEL_FAR) return bessel_near(order, x);
    double half = exp(x / 2); /* in two steps: exp(x) overflows before the result does */
    return isinf(x) ? x : half * bessel_far_scaled(order, x) * half;
}

double cpu_i0(double x) { return x != x ? x : bessel(0, fabs(x)); }
double cpu_i0e(double x) { return x != x ? x : bessel_scaled(0, fabs(x)); }
double cpu_i1(double x) { return x != x ? x : copysign(bessel(1, fabs(x)), x); }
double cpu_i1e(double x) { return x != x ? x : copysign(bessel_scaled(1, fabs(x)), x); }
