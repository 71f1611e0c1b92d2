// Cells of recurrent networks. Each thread has a cell of one sequence.
struct Cells {
    u32 batch, cells;
    // The positions among the gates' columns of the input gate, the new values, the forget gate and the output gate.
    u32 order[4];
    float forget_bias, clip;
    u32 has_peepholes;
};
static __device__ C sigmoid(C x) { return 1 / (1 + exp(-x)); }

// One step of an LSTM, whose gates are the sum of two products and the bias.
extern "C" __global__ void lstm_step(T* i_out, T* cs_out, T* f_out, T* o_out, T* ci_out, T* co_out, T* h_out, const T* from_x, const T* from_h,
    const T* bias, const T* state, const T* wci, const T* wcf, const T* wco, Cells c) {
    const u64 n = (u64)c.batch * c.cells;
    for (u64 at = thread_index(); at < n; at += thread_count()) {
        const u32 cell = (u32)(at % c.cells);
        const u64 row = at / c.cells * 4 * c.cells + cell;
        C gates[4];
        for (u32 k = 0; k < 4; k++) {
            const u32 column = c.order[k] * c.cells;
            gates[k] = (C)from_x[row + column] + (C)from_h[row + column] + (C)bias[column + cell];
        }
        const C before = (C)state[at];
        const C i = sigmoid(gates[0] + (c.has_peepholes ? (C)wci[cell] * before : 0)), ci = tanh(gates[1]);
        const C f = sigmoid(gates[2] + c.forget_bias + (c.has_peepholes ? (C)wcf[cell] * before : 0));
        C cs = ci * i + before * f;
        // NaN stays NaN.
        if (c.clip > 0) cs = cs < -c.clip ? -c.clip : cs > c.clip ? c.clip : cs;
        const C o = sigmoid(gates[3] + (c.has_peepholes ? (C)wco[cell] * cs : 0)), co = tanh(cs);
        i_out[at] = (T)i;
        cs_out[at] = (T)cs;
        f_out[at] = (T)f;
        o_out[at] = (T)o;
        ci_out[at] = (T)ci;
        co_out[at] = (T)co;
        h_out[at] = (T)(o * co);
    }
}

// The gradients of one step's gates and of the state before it, from those of the state and of the output, each the sum of two.
extern "C" __global__ void lstm_step_gradient(T* gates, T* state_gradient, const T* before, const T* i_in, const T* cs_in, const T* f_in, const T* o_in,
    const T* ci_in, const T* co_in, const T* dcs, const T* later_dcs, const T* dh, const T* later_dh, const T* wci, const T* wcf, const T* wco, Cells c) {
    const u64 n = (u64)c.batch * c.cells;
    for (u64 at = thread_index(); at < n; at += thread_count()) {
        const u32 cell = (u32)(at % c.cells);
        const C i = (C)i_in[at], f = (C)f_in[at], o = (C)o_in[at], ci = (C)ci_in[at], co = (C)co_in[at];
        const C of_h = (C)dh[at] + (later_dh ? (C)later_dh[at] : 0), of_cs = (C)dcs[at] + (later_dcs ? (C)later_dcs[at] : 0);
        const C d_o = o * (1 - o) * of_h * co;
        C d_cs = (1 - co * co) * of_h * o + of_cs;
        if (c.has_peepholes) d_cs += d_o * (C)wco[cell];
        const C d_ci = (1 - ci * ci) * d_cs * i, d_f = f * (1 - f) * d_cs * (C)before[at], d_i = i * (1 - i) * d_cs * ci;
        const C values[4] = {d_i, d_ci, d_f, d_o};
        for (u32 k = 0; k < 4; k++) gates[at / c.cells * 4 * c.cells + c.order[k] * c.cells + cell] = (T)values[k];
        C d_before = d_cs * f;
        if (c.has_peepholes) d_before += d_i * (C)wci[cell] + d_f * (C)wcf[cell];
        state_gradient[at] = (T)d_before;
    }
}

// A block for each cell sums the gradients of the cell's peepholes over `steps` steps. `first` is the state before the first step.
extern "C" __global__ void peephole_gradients(T* of_i, T* of_f, T* of_o, const T* gates, const T* first, const T* states, u32 steps, Cells c) {
    __shared__ C shared[256];
    const u32 cell = blockIdx.x;
    const u64 each = (u64)c.batch * c.cells, n = (u64)steps * c.batch;
    C sums[3] = {0, 0, 0};
    for (u64 row = threadIdx.x; row < n; row += blockDim.x) {
        const T* own = gates + row * 4 * c.cells + cell;
        const u64 at = row * c.cells + cell;
        const C before = (C)(at < each ? first[at] : states[at - each]);
        sums[0] += (C)own[c.order[0] * c.cells] * before;
        sums[1] += (C)own[c.order[2] * c.cells] * before;
        sums[2] += (C)own[c.order[3] * c.cells] * (C)states[at];
    }
    for (u32 k = 0; k < 3; k++) {
        const C sum = merge_row<C>(shared, sums[k], Plus<C>());
        if (threadIdx.x == 0) (k == 0 ? of_i : k == 1 ? of_f : of_o)[cell] = (T)sum;
    }
}
