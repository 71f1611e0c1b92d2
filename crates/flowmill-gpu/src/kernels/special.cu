// Special functions of real numbers in double precision, by the formulas of the CPU's (`flowmill_numeric::special`), whose files describe the methods.
#define SPECIAL [[maybe_unused]] static __device__ double
#define SPECIAL_EPSILON 1e-16
#define SPECIAL_TERMS 20000
#define SPECIAL_PI 3.14159265358979323846
#define SPECIAL_EULER 0.57721566490153286061

SPECIAL special_nan() { return highest<double>() - highest<double>(); }
SPECIAL special_polynomial(double x, const double* coefficients, int n) {
    double sum = 0;
    for (int i = n - 1; i >= 0; i--) sum = sum * x + coefficients[i];
    return sum;
}
SPECIAL special_nonzero(double x) { return fabs(x) < 1e-300 ? 1e-300 : x; }
[[maybe_unused]] static __device__ bool special_is_infinite(double x) { return x == highest<double>() || x == lowest<double>(); }

// Bessel functions.
SPECIAL special_bessel_ie(int order, double x) {
    x = fabs(x);
    const double nu = order;
    if (x < 30) {
        const double quarter = x * x / 4;
        double term = order == 0 ? 1 : x / 2, sum = term, k = 1;
        while (term > sum * SPECIAL_EPSILON) {
            term *= quarter / (k * (k + nu));
            sum += term;
            k += 1;
        }
        return sum * exp(-x);
    }
    if (special_is_infinite(x)) return 0;
    double term = 1, sum = 1;
    for (double k = 1; k < 60; k += 1) {
        const double odd = 2 * k - 1;
        term *= (odd * odd - 4 * nu * nu) / (8 * k * x);
        if (fabs(term) < SPECIAL_EPSILON) break;
        sum += term;
    }
    return sum / sqrt(2 * SPECIAL_PI * x);
}
SPECIAL special_bessel_i0e(double x) { return x != x ? x : special_bessel_ie(0, x); }
SPECIAL special_bessel_i1e(double x) { return x != x || x == 0 ? x : copysign(special_bessel_ie(1, x), x); }
SPECIAL special_bessel_i0(double x) { return special_is_infinite(x) ? highest<double>() : exp(fabs(x)) * special_bessel_i0e(x); }
SPECIAL special_bessel_i1(double x) { return special_is_infinite(x) ? x : exp(fabs(x)) * special_bessel_i1e(x); }

// exp(x) K(order, x) for positive x.
SPECIAL special_bessel_ke(int order, double x) {
    if (special_is_infinite(x)) return 0;
    if (!(x > 2)) {
        const double quarter = x * x / 4;
        double term = 1, harmonic = 0, k = 0, i0 = 0, i1 = 0, sum = 0;
        while (term > i0 * SPECIAL_EPSILON) {
            i0 += term;
            i1 += term * x / 2 / (k + 1);
            sum += term * harmonic;
            k += 1;
            harmonic += 1 / k;
            term *= quarter / (k * k);
        }
        const double k0 = sum - (log(x / 2) + SPECIAL_EULER) * i0;
        return (order == 0 ? k0 : (1 / x - i1 * k0) / i0) * exp(x);
    }
    double b = 2 * (x + 1), d = 1 / b, step = d, fraction = d, a = -0.25, c = 0.25, before = 0, last = 1, weight = 0.25;
    double norm = 1 + weight * step;
    for (int n = 2; n < SPECIAL_TERMS; n++) {
        const double i = n;
        a -= 2 * (i - 1);
        c *= -a / i;
        const double next = (before - b * last) / a;
        before = last;
        last = next;
        weight += c * last;
        b += 2;
        d = 1 / (b + a * d);
        step *= b * d - 1;
        fraction += step;
        const double term = weight * step;
        norm += term;
        if (fabs(term) <= fabs(norm) * SPECIAL_EPSILON) break;
    }
    const double k0 = sqrt(SPECIAL_PI / (2 * x)) / norm;
    return order == 0 ? k0 : k0 * (x + 0.5 - fraction / 4) / x;
}
SPECIAL special_bessel_k0e(double x) { return x <= 0 ? highest<double>() : special_bessel_ke(0, x); }
SPECIAL special_bessel_k1e(double x) { return x <= 0 ? highest<double>() : special_bessel_ke(1, x); }
SPECIAL special_bessel_k0(double x) { return x <= 0 ? highest<double>() : special_bessel_ke(0, x) * exp(-x); }
SPECIAL special_bessel_k1(double x) { return x <= 0 ? highest<double>() : special_bessel_ke(1, x) * exp(-x); }
SPECIAL special_bessel_j0(double x) { return special_is_infinite(x) ? special_nan() : j0(x); }
SPECIAL special_bessel_j1(double x) { return special_is_infinite(x) ? special_nan() : j1(x); }
SPECIAL special_bessel_y0(double x) { return x <= 0 ? lowest<double>() : special_is_infinite(x) ? special_nan() : y0(x); }
SPECIAL special_bessel_y1(double x) { return x <= 0 ? lowest<double>() : special_is_infinite(x) ? special_nan() : y1(x); }

// Derivatives of the logarithm of the gamma function, and the Hurwitz zeta function.
SPECIAL special_digamma(double x) {
    const double series[7] = {-1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240, -1.0 / 132, 691.0 / 32760, -1.0 / 12};
    double reflected = 0;
    if (x <= 0) {
        if (x == floor(x)) return special_nan();
        // The tangent has period 1 in x.
        reflected = SPECIAL_PI / tan(SPECIAL_PI * (x - rint(x)));
        x = 1 - x;
    }
    double shift = 0;
    while (x < 10) {
        shift += 1 / x;
        x += 1;
    }
    const double square = 1 / (x * x);
    return log(x) - 0.5 / x + square * special_polynomial(square, series, 7) - shift - reflected;
}
SPECIAL special_zeta(double s, double q) {
    const double corrections[10] = {12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1892437580.3183793, 74724249600.0, -2950130727918.164,
        116467828143500.67, -4597978722407472.0};
    const double terms = 12;
    if (s == 1) return highest<double>();
    if (s != s || q != q || s < 1) return special_nan();
    if (q <= 0) {
        if (q == floor(q)) return fmod(s, 2.0) == 0 ? highest<double>() : special_nan();
        if (s != floor(s) || q < -1e6) return special_nan();
    }
    double sum = 0, x = q;
    for (double n = 0; n < terms || x < terms; n += 1) {
        const double term = pow(x, -s);
        sum += term;
        if (x > 0 && term < sum * SPECIAL_EPSILON) return sum;
        x += 1;
    }
    const double power = pow(x, -s);
    sum += x * power / (s - 1) + power / 2;
    double factor = s * power / x, k = 1;
    for (int i = 0; i < 10; i++) {
        const double term = factor / corrections[i];
        sum += term;
        if (fabs(term) < fabs(sum) * SPECIAL_EPSILON) break;
        factor *= (s + k) * (s + k + 1) / (x * x);
        k += 2;
    }
    return sum;
}
SPECIAL special_polygamma(double n, double x) {
    if (n == 0) return special_digamma(x);
    if (n < 0 || n != floor(n)) return special_nan();
    return (fmod(n, 2.0) == 0 ? -1.0 : 1.0) * tgamma(n + 1) * special_zeta(n + 1, x);
}

// Incomplete gamma and beta functions.
SPECIAL special_gamma_factor(double a, double x) { return exp(a * log(x) - x - lgamma(a)); }
SPECIAL special_gamma_series(double a, double x) {
    double term = 1 / a, sum = term, n = a;
    for (int i = 0; i < SPECIAL_TERMS; i++) {
        n += 1;
        term *= x / n;
        sum += term;
        if (term < sum * SPECIAL_EPSILON) break;
    }
    return sum * special_gamma_factor(a, x);
}
SPECIAL special_gamma_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int n = 1; n < SPECIAL_TERMS; n++) {
        const double i = n, an = -i * (i - a);
        b += 2;
        d = 1 / special_nonzero(an * d + b);
        c = special_nonzero(b + an / c);
        const double step = d * c;
        h *= step;
        if (fabs(step - 1) < SPECIAL_EPSILON) break;
    }
    return h * special_gamma_factor(a, x);
}
SPECIAL special_igamma(double a, double x) {
    if (x == 0) return 0;
    if (x < 0 || a <= 0 || x != x || a != a) return special_nan();
    if (special_is_infinite(a)) return special_is_infinite(x) ? special_nan() : 0;
    if (special_is_infinite(x)) return 1;
    return x < a + 1 ? special_gamma_series(a, x) : 1 - special_gamma_fraction(a, x);
}
SPECIAL special_igammac(double a, double x) {
    if (x < 0 || a <= 0 || x != x || a != a) return special_nan();
    if (special_is_infinite(a)) return special_is_infinite(x) ? special_nan() : 1;
    if (x == 0) return 1;
    if (special_is_infinite(x)) return 0;
    return x < a + 1 ? 1 - special_gamma_series(a, x) : special_gamma_fraction(a, x);
}
SPECIAL special_slope_of_series(double a, double x) {
    double term = x / a, n = a, digamma = special_digamma(a) + 1 / a, sum = 0;
    const double logarithm = log(x);
    for (int i = 0; i < SPECIAL_TERMS; i++) {
        const double step = term * (logarithm - digamma);
        sum += step;
        n += 1;
        if (n > x && fabs(step) < fabs(sum) * SPECIAL_EPSILON) break;
        term *= x / n;
        digamma += 1 / n;
    }
    return -sum;
}
// Each variable of the continued fraction is followed by its derivative.
SPECIAL special_slope_of_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, dc = 0, d = 1 / b, dd = d * d, h = d, dh = dd;
    const double db = -1;
    for (int n = 1; n < SPECIAL_TERMS; n++) {
        const double i = n, an = -i * (i - a), dan = i;
        b += 2;
        const double inverse = special_nonzero(an * d + b), d_inverse = dan * d + an * dd + db;
        d = 1 / inverse;
        dd = -d_inverse / (inverse * inverse);
        const double next = special_nonzero(b + an / c);
        dc = db + dan / c - an * dc / (c * c);
        c = next;
        const double step = d * c, d_step = dd * c + d * dc;
        dh = dh * step + h * d_step;
        h *= step;
        if (fabs(step - 1) < SPECIAL_EPSILON && fabs(d_step) < SPECIAL_EPSILON) break;
    }
    return x * (dh + h * (log(x) - special_digamma(a)));
}
SPECIAL special_gamma_sample_slope(double a, double x) {
    if (x == 0) return 0;
    if (!(x > 0 && a > 0) || special_is_infinite(x) || special_is_infinite(a)) return special_nan();
    return x < a + 1 ? special_slope_of_series(a, x) : special_slope_of_fraction(a, x);
}
SPECIAL special_igamma_grad_a(double a, double x) { return x == 0 ? 0 : -special_gamma_sample_slope(a, x) * special_gamma_factor(a, x) / x; }
SPECIAL special_beta_fraction(double a, double b, double x) {
    double c = 1, d = 1 / special_nonzero(1 - (a + b) * x / (a + 1)), h = d;
    for (int n = 1; n < SPECIAL_TERMS; n++) {
        const double m = n;
        const double coefficients[2] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double step = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 / special_nonzero(1 + coefficients[i] * d);
            c = special_nonzero(1 + coefficients[i] / c);
            step = c * d;
            h *= step;
        }
        if (fabs(step - 1) < SPECIAL_EPSILON) break;
    }
    return h;
}
SPECIAL special_betainc(double a, double b, double x) {
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return special_nan();
    if (x == 0 || x == 1) return x;
    const double factor = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? factor * special_beta_fraction(a, b, x) / a : 1 - factor * special_beta_fraction(b, a, 1 - x) / b;
}

// Integrals without an elementary form.
SPECIAL special_dawsn(double x) {
    const double size = fabs(x), square = 2 * x * x;
    if (x != x) return x;
    if (size < 1 || size >= 7) {
        double term = size < 1 ? x : 0.5 / x, sum = term, k = 1;
        for (;; k += 1) {
            term *= size < 1 ? -square / (2 * k + 1) : (2 * k - 1) / square;
            if (!(fabs(term) > fabs(sum) * SPECIAL_EPSILON)) return sum;
            sum += term;
        }
    }
    const double width = 0.25, reach = 6.5;
    double sum = 0;
    const long long first = (long long)floor((x - reach) / width) | 1, last = (long long)((x + reach) / width);
    for (long long n = first; n <= last; n += 2) {
        const double distance = x - (double)n * width;
        sum += exp(-distance * distance) / (double)n;
    }
    return sum / sqrt(SPECIAL_PI);
}
SPECIAL special_expint(double x) {
    if (x == 0) return lowest<double>();
    if (!(x > 0) || special_is_infinite(x)) return special_nan();
    if (x >= 40) {
        double term = 1, sum = 1;
        for (double k = 1;; k += 1) {
            term *= k / x;
            if (!(fabs(term) > fabs(sum) * SPECIAL_EPSILON)) return exp(x) / x * sum;
            sum += term;
        }
    }
    double power = x, sum = x, k = 1;
    while (power > sum * SPECIAL_EPSILON) {
        k += 1;
        power *= x / k;
        sum += power / k;
    }
    return SPECIAL_EULER + log(x) + sum;
}
struct SpecialComplex {
    double re, im;
};
[[maybe_unused]] static __device__ SpecialComplex special_product(SpecialComplex a, SpecialComplex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
[[maybe_unused]] static __device__ SpecialComplex special_inverse(SpecialComplex a) {
    const double norm = a.re * a.re + a.im * a.im;
    return {a.re / norm, -a.im / norm};
}
// The cosine and the sine integral of Fresnel for a number that is not negative.
[[maybe_unused]] static __device__ SpecialComplex special_fresnel(double x) {
    if (x > 36974) return {0.5, 0.5};
    const double angle = SPECIAL_PI / 2 * (x * x);
    if (x <= 2) {
        SpecialComplex power = {x, 0}, sum = {0, 0};
        for (double k = 0; power.re * power.re + power.im * power.im > 0 && k < 60;) {
            sum.re += power.re / (2 * k + 1);
            sum.im += power.im / (2 * k + 1);
            k += 1;
            power = special_product(power, {0, angle / k});
        }
        return sum;
    }
    SpecialComplex b = {1, -2 * angle}, c = {1e300, 0}, d = special_inverse(b), h = d;
    for (int i = 1; i < SPECIAL_TERMS; i++) {
        const double n = 2 * i - 1, a = -n * (n + 1);
        b.re += 4;
        d = special_inverse({d.re * a + b.re, d.im * a + b.im});
        const SpecialComplex inverse = special_inverse(c);
        c = {b.re + inverse.re * a, b.im + inverse.im * a};
        const SpecialComplex step = special_product(c, d);
        h = special_product(h, step);
        if (fabs(step.re - 1) + fabs(step.im) < 1e-15) break;
    }
    const double turn = SPECIAL_PI / 2 * fmod(x * x, 4.0);
    const SpecialComplex rest = special_product({cos(turn) * x, sin(turn) * x}, h);
    return {0.5 - rest.re, 0.5 - rest.im};
}
SPECIAL special_fresnel_cos(double x) { return x != x ? x : copysign(special_fresnel(fabs(x)).re, x); }
SPECIAL special_fresnel_sin(double x) { return x != x ? x : copysign(special_fresnel(fabs(x)).im, x); }
// Spence's function between 0.5 and 2.
SPECIAL special_spence_near(double x) {
    const double series[8] = {1.0 / 36, -1.0 / 3600, 1.0 / 211680, -1.0 / 10886400, 1.0 / 526901760, -691.0 / 2730 / 6227020800.0,
        7.0 / 6 / 1307674368000.0, -3617.0 / 510 / 355687428096000.0};
    const double u = -log(x), square = u * u;
    return u - square / 4 + u * square * special_polynomial(square, series, 8);
}
SPECIAL special_spence(double x) {
    const double limit = SPECIAL_PI * SPECIAL_PI / 6;
    if (!(x >= 0) || special_is_infinite(x)) return special_nan();
    if (x == 0) return limit;
    const double own = x > 2 ? 1 / x : x;
    const double value = own == 0 ? limit : own < 0.5 ? limit - log(own) * log1p(-own) - special_spence_near(1 - own) : special_spence_near(own);
    return x > 2 ? -0.5 * log(x) * log(x) - value : value;
}

// Quantiles of the normal distribution.
SPECIAL special_normal_quantile(double q, double tail) {
    const double centre[16] = {3.3871328727963666, 133.14166789178438, 1971.5909503065514, 13731.693765509461, 45921.95393154987, 67265.7709270087,
        33430.57558358813, 2509.0809287301227, 1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271,
        28729.085735721943, 5226.495278852854};
    const double middle[16] = {1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684, 0.2417807251774506,
        0.022723844989269184, 7.745450142783414e-4, 1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008,
        0.015198666563616457, 5.475938084995345e-4, 1.0507500716444169e-9};
    const double far[16] = {6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124, 1.2426609473880784e-3,
        2.7115555687434876e-5, 2.0103343992922881e-7, 1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 7.868691311456133e-4,
        1.8463183175100548e-5, 1.421511758316446e-7, 2.0442631033899398e-15};
    if (fabs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * special_polynomial(r, centre, 8) / special_polynomial(r, centre + 8, 8);
    }
    if (tail == 0) return copysign(highest<double>(), q);
    const double r = sqrt(-log(tail)), near = r - 1.6, beyond = r - 5;
    const double size = r <= 5 ? special_polynomial(near, middle, 8) / special_polynomial(near, middle + 8, 8)
                               : special_polynomial(beyond, far, 8) / special_polynomial(beyond, far + 8, 8);
    return copysign(size, q);
}
SPECIAL special_erfinv(double x) {
    if (!(fabs(x) <= 1)) return special_nan();
    return special_normal_quantile(x / 2, (1 - fabs(x)) / 2) / 1.41421356237309504880;
}
SPECIAL special_ndtri(double p) {
    if (!(p >= 0 && p <= 1)) return special_nan();
    return special_normal_quantile(p - 0.5, p < 1 - p ? p : 1 - p);
}
