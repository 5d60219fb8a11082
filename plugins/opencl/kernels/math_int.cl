/* The functions of wick/sdk/pointwise.inc for integers of type T, bool included. Division by zero gives -1: a kernel
 * cannot raise an error in time, and hardware may trap. */
#define K(x) ((T)(x))

T int_div(T a, T b) { return b == 0 || b == (T)-1 ? (b == 0 ? (T)-1 : (T)0 - a) : a / b; }

T int_mod(T a, T b) { return b == 0 || b == (T)-1 ? (T)0 : a % b; }

T int_div_floor(T a, T b) {
    const T q = int_div(a, b);
    return b != 0 && q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

T int_remainder(T a, T b) {
    const T m = int_mod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

/* Wraps around; of negative exponents only 1 and -1 have a result. */
T int_pow(T a, T n) {
    T result = 1;
    if (n < 0) return a == 1 ? (T)1 : a == (T)-1 ? (n % 2 ? (T)-1 : (T)1) : (T)0;
    for (; n > 0; n /= 2, a *= a)
        if (n % 2) result *= a;
    return result;
}

T int_gcd(T a, T b) {
    if (a < 0) a = (T)0 - a;
    if (b < 0) b = (T)0 - b;
    while (a != 0) {
        const T r = b % a;
        b = a, a = r;
    }
    return b;
}

T int_lcm(T a, T b) {
    const T g = int_gcd(a, b), m = g == 0 ? (T)0 : a / g * b;
    return m < 0 ? (T)0 - m : m;
}

#define m_abs(x) ((x) < 0 ? (T)0 - (x) : (x))
#define m_sgn(x) ((T)(((x) > 0) - ((x) < 0)))
#define m_pow(x, y) int_pow((T)(x), (T)(y))
#define m_gcd(x, y) int_gcd(x, y)
#define m_lcm(x, y) int_lcm(x, y)
#define m_floor(x) (x)
#define m_ceil(x) (x)
#define m_trunc(x) (x)
#define m_round(x) (x)
#define m_conj(x) (x)
#define m_is_nan(x) 0
#define m_is_inf(x) 0
#define m_signbit(x) ((x) < 0)
#define m_div_trunc(x, y) int_div(x, y)
#define m_div_floor(x, y) int_div_floor(x, y)
#define m_fmod(x, y) int_mod(x, y)
#define m_remainder(x, y) int_remainder(x, y)
#define m_shift_left(x, y) ((y) < 0 || (y) >= T_BITS ? (T)0 : (T)((x) << (y)))
#define m_shift_right(x, y) ((y) < 0 || (y) >= T_BITS ? ((x) < 0 ? (T)-1 : (T)0) : (T)((x) >> (y)))
