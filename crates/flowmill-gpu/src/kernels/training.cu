// Update rules of optimizers. `R` is one of them. `flag` is the node's attribute that chooses a variant.
struct GradientDescent {
    enum { VARIABLES = 1, SCALARS = 1 };
    C alpha;
    __device__ GradientDescent(const C* s, u32) : alpha(s[0]) {}
    __device__ void operator()(C* v, C g) const { v[0] -= alpha * g; }
};
struct Momentum {
    enum { VARIABLES = 2, SCALARS = 2 };
    C lr, momentum;
    bool nesterov;
    __device__ Momentum(const C* s, u32 flag) : lr(s[0]), momentum(s[1]), nesterov(flag != 0) {}
    __device__ void operator()(C* v, C g) const {
        v[1] = v[1] * momentum + g;
        v[0] -= nesterov ? g * lr + v[1] * momentum * lr : v[1] * lr;
    }
};
struct KerasMomentum {
    enum { VARIABLES = 2, SCALARS = 2 };
    C lr, momentum;
    bool nesterov;
    __device__ KerasMomentum(const C* s, u32 flag) : lr(s[0]), momentum(s[1]), nesterov(flag != 0) {}
    __device__ void operator()(C* v, C g) const {
        v[1] = v[1] * momentum - lr * g;
        v[0] += nesterov ? v[1] * momentum - lr * g : v[1];
    }
};
struct Adagrad {
    enum { VARIABLES = 2, SCALARS = 1 };
    C lr;
    bool updates_slots;
    __device__ Adagrad(const C* s, u32 flag) : lr(s[0]), updates_slots(flag != 0) {}
    __device__ void operator()(C* v, C g) const {
        if (updates_slots) v[1] += g * g;
        v[0] -= lr * g / sqrt(v[1]);
    }
};
struct AdagradV2 {
    enum { VARIABLES = 2, SCALARS = 2 };
    C lr, epsilon;
    bool updates_slots;
    __device__ AdagradV2(const C* s, u32 flag) : lr(s[0]), epsilon(s[1]), updates_slots(flag != 0) {}
    __device__ void operator()(C* v, C g) const {
        if (updates_slots) v[1] += g * g;
        v[0] -= lr * g / (sqrt(v[1]) + epsilon);
    }
};
struct Adadelta {
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
struct Adam {
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
struct AdaMax {
    enum { VARIABLES = 3, SCALARS = 5 };
    C rate, beta1, beta2, epsilon;
    __device__ AdaMax(const C* s, u32) : rate(s[1] / (1 - s[0])), beta1(s[2]), beta2(s[3]), epsilon(s[4]) {}
    __device__ void operator()(C* v, C g) const {
        v[1] += (g - v[1]) * (1 - beta1);
        v[2] = fmax(beta2 * v[2], fabs(g));
        v[0] -= rate * (v[1] / (v[2] + epsilon));
    }
};
struct RMSProp {
    enum { VARIABLES = 3, SCALARS = 4 };
    C lr, rho, momentum, epsilon;
    __device__ RMSProp(const C* s, u32) : lr(s[0]), rho(s[1]), momentum(s[2]), epsilon(s[3]) {}
    __device__ void operator()(C* v, C g) const {
        v[1] += (g * g - v[1]) * (1 - rho);
        v[2] = v[2] * momentum + lr * g / sqrt(v[1] + epsilon);
        v[0] -= v[2];
    }
};
struct CenteredRMSProp {
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

// The variable and its slots before and after the update, the hyperparameters, and the gradient.
struct Operands {
    T* after[4];
    const T* before[4];
    const T* scalars[6];
    const T* gradient;
};

extern "C" __global__ void update(Operands o, u64 n, u32 flag) {
    C scalars[6];
    for (u32 i = 0; i < R::SCALARS; i++) scalars[i] = (C)o.scalars[i][0];
    const R rule(scalars, flag);
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        C values[4];
        for (u32 v = 0; v < R::VARIABLES; v++) values[v] = (C)o.before[v][i];
        rule(values, (C)o.gradient[i]);
        for (u32 v = 0; v < R::VARIABLES; v++) o.after[v][i] = (T)values[v];
    }
}
