// Update rules of optimizers. `R` is one of them. `flag` is the node's attribute that chooses a variant.
struct Rule {
    // The number of the hyperparameter that is a count of steps, in 64 bits.
    enum { COUNTER = 6 };
};
struct GradientDescent : Rule {
    enum { VARIABLES = 1, SCALARS = 1 };
    C alpha;
    __device__ GradientDescent(const C* s, u32) : alpha(s[0]) {}
    __device__ void operator()(C* v, C g) const { v[0] -= alpha * g; }
};
struct Momentum : Rule {
    enum { VARIABLES = 2, SCALARS = 2 };
    C lr, momentum;
    bool nesterov;
    __device__ Momentum(const C* s, u32 flag) : lr(s[0]), momentum(s[1]), nesterov(flag != 0) {}
    __device__ void operator()(C* v, C g) const {
        v[1] = v[1] * momentum + g;
        v[0] -= nesterov ? g * lr + v[1] * momentum * lr : v[1] * lr;
    }
};
struct KerasMomentum : Rule {
    enum { VARIABLES = 2, SCALARS = 2 };
    C lr, momentum;
    bool nesterov;
    __device__ KerasMomentum(const C* s, u32 flag) : lr(s[0]), momentum(s[1]), nesterov(flag != 0) {}
    __device__ void operator()(C* v, C g) const {
        v[1] = v[1] * momentum - lr * g;
        v[0] += nesterov ? v[1] * momentum - lr * g : v[1];
    }
};
struct Adagrad : Rule {
    enum { VARIABLES = 2, SCALARS = 1 };
    C lr;
    bool updates_slots;
    __device__ Adagrad(const C* s, u32 flag) : lr(s[0]), updates_slots(flag != 0) {}
    __device__ void operator()(C* v, C g) const {
        if (updates_slots) v[1] += g * g;
        v[0] -= lr * g / sqrt(v[1]);
    }
};
struct AdagradV2 : Rule {
    enum { VARIABLES = 2, SCALARS = 2 };
    C lr, epsilon;
    bool updates_slots;
    __device__ AdagradV2(const C* s, u32 flag) : lr(s[0]), epsilon(s[1]), updates_slots(flag != 0) {}
    __device__ void operator()(C* v, C g) const {
        if (updates_slots) v[1] += g * g;
        v[0] -= lr * g / (sqrt(v[1]) + epsilon);
    }
};
struct Adadelta : Rule {
    enum { VARIABLES = 3, SCALARS = 3 };
    C lr, rho, epsilon;
    __device__ Adadelta(const C* s, u32) : lr(s[0]), rho(s[1]), epsilon(s[2]) {}
    __device__ void operator()(C* v, C g) const {
        v[1] = v[1] * rho + g * g * (1 - rho);
        const C update = sqrt(v[2] + epsilon) / sqrt(v[1] + epsilon) * g;
        v[0] -= lr * update;
        v[2] = v[2] * rho + update * update * (1 - rho);
    }
};
struct Adam : Rule {
    enum { VARIABLES = 3, SCALARS = 6 };
    C alpha, beta1, beta2, epsilon;
    bool nesterov;
    __device__ Adam(const C* s, u32 flag)
        : alpha(s[2] * sqrt(1 - s[1]) / (1 - s[0])), beta1(s[3]), beta2(s[4]), epsilon(s[5]), nesterov(flag != 0) {}
    __device__ void operator()(C* v, C g) const {
        v[1] += (g - v[1]) * (1 - beta1);
        v[2] += (g * g - v[2]) * (1 - beta2);
        const C direction = nesterov ? g * (1 - beta1) + beta1 * v[1] : v[1];
        v[0] -= alpha * direction / (sqrt(v[2]) + epsilon);
    }
};
struct AdaMax : Rule {
    enum { VARIABLES = 3, SCALARS = 5 };
    C rate, beta1, beta2, epsilon;
    __device__ AdaMax(const C* s, u32) : rate(s[1] / (1 - s[0])), beta1(s[2]), beta2(s[3]), epsilon(s[4]) {}
    __device__ void operator()(C* v, C g) const {
        v[1] += (g - v[1]) * (1 - beta1);
        v[2] = fmax(beta2 * v[2], fabs(g));
        v[0] -= rate * (v[1] / (v[2] + epsilon));
    }
};
struct RMSProp : Rule {
    enum { VARIABLES = 3, SCALARS = 4 };
    C lr, rho, momentum, epsilon;
    __device__ RMSProp(const C* s, u32) : lr(s[0]), rho(s[1]), momentum(s[2]), epsilon(s[3]) {}
    __device__ void operator()(C* v, C g) const {
        v[1] += (g * g - v[1]) * (1 - rho);
        v[2] = v[2] * momentum + lr * g / sqrt(v[1] + epsilon);
        v[0] -= v[2];
    }
};
struct CenteredRMSProp : Rule {
    enum { VARIABLES = 4, SCALARS = 4 };
    C lr, rho, momentum, epsilon;
    __device__ CenteredRMSProp(const C* s, u32) : lr(s[0]), rho(s[1]), momentum(s[2]), epsilon(s[3]) {}
    __device__ void operator()(C* v, C g) const {
        v[2] += (g * g - v[2]) * (1 - rho);
        v[1] += (g - v[1]) * (1 - rho);
        v[3] = v[3] * momentum + lr * g / sqrt(v[2] - v[1] * v[1] + epsilon);
        v[0] -= v[3];
    }
};

struct Amsgrad : Rule {
    enum { VARIABLES = 4, SCALARS = 6 };
    C alpha, beta1, beta2, epsilon;
    __device__ Amsgrad(const C* s, u32) : alpha(s[2] * sqrt(1 - s[1]) / (1 - s[0])), beta1(s[3]), beta2(s[4]), epsilon(s[5]) {}
    __device__ void operator()(C* v, C g) const {
        v[1] += (g - v[1]) * (1 - beta1);
        v[2] += (g * g - v[2]) * (1 - beta2);
        v[3] = fmax(v[3], v[2]);
        v[0] -= alpha * v[1] / (sqrt(v[3]) + epsilon);
    }
};

// A step towards zero by `l1`, which does not cross it.
static __device__ C shrunk(C step, C l1) { return l1 > 0 ? copysign(fmax(fabs(step) - l1, (C)0), step) : step; }
static __device__ C sign(C x) { return x != x ? x : (C)((x > 0) - (x < 0)); }

struct ProximalGradientDescent : Rule {
    enum { VARIABLES = 1, SCALARS = 3 };
    C alpha, l1, l2;
    __device__ ProximalGradientDescent(const C* s, u32) : alpha(s[0]), l1(s[1]), l2(s[2]) {}
    __device__ void operator()(C* v, C g) const { v[0] = shrunk(v[0] - alpha * g, alpha * l1) / (1 + alpha * l2); }
};
struct ProximalAdagrad : Rule {
    enum { VARIABLES = 2, SCALARS = 3 };
    C lr, l1, l2;
    __device__ ProximalAdagrad(const C* s, u32) : lr(s[0]), l1(s[1]), l2(s[2]) {}
    __device__ void operator()(C* v, C g) const {
        v[1] += g * g;
        const C rate = lr / sqrt(v[1]);
        v[0] = shrunk(v[0] - rate * g, rate * l1) / (1 + rate * l2);
    }
};
struct AdagradDA : Rule {
    enum { VARIABLES = 3, SCALARS = 4, COUNTER = 3 };
    C lr, l1, l2, step;
    __device__ AdagradDA(const C* s, u32) : lr(s[0]), l1(s[1]), l2(s[2]), step(s[3]) {}
    __device__ void operator()(C* v, C g) const {
        v[1] += g;
        v[2] += g * g;
        const C kept = l1 > 0 ? fmax(fabs(v[1]) - l1 * step, (C)0) * sign(v[1]) : v[1];
        v[0] = -lr * kept / (l2 * step * lr + sqrt(v[2]));
    }
};
struct FtrlV2 : Rule {
    enum { VARIABLES = 3, SCALARS = 5 };
    C lr, l1, l2, lr_power, shrinkage;
    bool multiplied;
    __device__ FtrlV2(const C* s, u32 flag) : FtrlV2(s, s[4], flag) {}
    __device__ FtrlV2(const C* s, C shrinkage, u32 flag)
        : lr(s[0]), l1(s[1]), l2(s[2]), lr_power(s[3]), shrinkage(shrinkage), multiplied(flag != 0) {}
    __device__ C power(C accum) const { return lr_power == (C)-0.5 ? sqrt(accum) : pow(accum, -lr_power); }
    __device__ void operator()(C* v, C g) const {
        const C gradient = g + 2 * shrinkage * v[0], accum = v[1] + g * g;
        const C sigma = power(accum) - power(v[1]);
        v[2] += multiplied ? gradient * lr - sigma * v[0] : gradient - sigma / lr * v[0];
        const C least = multiplied ? l1 * lr : l1;
        const C quadratic = multiplied ? power(accum) + 2 * l2 * lr : power(accum) / lr + 2 * l2;
        v[0] = fabs(v[2]) > least ? (copysign(least, v[2]) - v[2]) / quadratic : (C)0;
        v[1] = accum;
    }
};
struct Ftrl : FtrlV2 {
    enum { SCALARS = 4 };
    __device__ Ftrl(const C* s, u32 flag) : FtrlV2(s, (C)0, flag) {}
};
struct AddSign : Rule {
    enum { VARIABLES = 2, SCALARS = 4 };
    C lr, base, decay, beta;
    __device__ AddSign(const C* s, u32) : lr(s[0]), base(s[1]), decay(s[2]), beta(s[3]) {}
    __device__ C agreement(C* v, C g) const {
        v[1] = v[1] * beta + g * (1 - beta);
        return decay * (sign(g) * sign(v[1]));
    }
    __device__ void operator()(C* v, C g) const { v[0] -= lr * (base + agreement(v, g)) * g; }
};
struct PowerSign : AddSign {
    __device__ PowerSign(const C* s, u32 flag) : AddSign(s, flag) {}
    __device__ void operator()(C* v, C g) const { v[0] -= lr * exp(base * agreement(v, g)) * g; }
};

// The variable and its slots before and after the update, the hyperparameters, and the gradient.
struct Operands {
    T* after[4];
    const T* before[4];
    const T* scalars[6];
    const T* gradient;
};

static __device__ R rule_of(const Operands& o, u32 flag) {
    C scalars[6];
    for (u32 i = 0; i < R::SCALARS; i++) scalars[i] = i == R::COUNTER ? (C)*(const long long*)o.scalars[i] : (C)o.scalars[i][0];
    return R(scalars, flag);
}

extern "C" __global__ void update(Operands o, u64 n, u32 flag) {
    const R rule = rule_of(o, flag);
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        C values[4];
        for (u32 v = 0; v < R::VARIABLES; v++) values[v] = (C)o.before[v][i];
        rule(values, (C)o.gradient[i]);
        for (u32 v = 0; v < R::VARIABLES; v++) o.after[v][i] = (T)values[v];
    }
}

// The rows are those of the values after the update, which begin as copies of those before.
extern "C" __global__ void update_rows(Operands o, const I* indices, const u64* sorted, Slices s, u32 flag) {
    const R rule = rule_of(o, flag);
    for_each_update(s, indices, sorted, [&](u32 slice, u32 number) {
        for (u32 column = threadIdx.x; column < s.inner; column += BLOCK) {
            const u64 at = (u64)slice * s.inner + column;
            C values[4];
            for (u32 v = 0; v < R::VARIABLES; v++) values[v] = (C)o.after[v][at];
            rule(values, (C)o.gradient[(u64)number * s.inner + column]);
            for (u32 v = 0; v < R::VARIABLES; v++) o.after[v][at] = (T)values[v];
        }
    });
}
