// Cells of gated recurrent units. Each thread has a cell of one sequence.
static __device__ T sigmoid(T x) { return 1 / (1 + exp(-x)); }

// The gates, and the output before the step times the reset gate.
extern "C" __global__ void gates(T* r, T* u, T* reset, const T* from_x, const T* from_h, const T* bias, const T* h, u32 n, u32 cells) {
    for (u64 at = thread_index(); at < n; at += thread_count()) {
        const u64 cell = at % cells, row = at / cells * 2 * cells + cell;
        r[at] = sigmoid(from_x[row] + from_h[row] + bias[cell]);
        u[at] = sigmoid(from_x[row + cells] + from_h[row + cells] + bias[cells + cell]);
        reset[at] = r[at] * h[at];
    }
}

// The new values and the output.
extern "C" __global__ void outputs(T* c, T* out, const T* from_x, const T* from_reset, const T* bias, const T* u, const T* h, u32 n, u32 cells) {
    for (u64 at = thread_index(); at < n; at += thread_count()) {
        c[at] = tanh(from_x[at] + from_reset[at] + bias[at % cells]);
        out[at] = u[at] * h[at] + (1 - u[at]) * c[at];
    }
}

// The gradient of the new values before `tanh`.
extern "C" __global__ void new_values_gradient(T* dc, const T* u, const T* c, const T* dh, u32 n) {
    for (u64 at = thread_index(); at < n; at += thread_count()) dc[at] = dh[at] * (1 - u[at]) * (1 - c[at] * c[at]);
}

// The gradients of both gates before `sigmoid`. `of_new_values` has those of the input and of the reset output in the rows of a matrix.
extern "C" __global__ void gates_gradient(T* gates, const T* of_new_values, const T* h, const T* r, const T* u, const T* c, const T* dh, u32 n, u32 cells, u32 inputs) {
    for (u64 at = thread_index(); at < n; at += thread_count()) {
        const u64 row = at / cells, cell = at % cells;
        gates[row * 2 * cells + cell] = of_new_values[row * (inputs + cells) + inputs + cell] * h[at] * r[at] * (1 - r[at]);
        gates[row * 2 * cells + cells + cell] = dh[at] * (h[at] - c[at]) * u[at] * (1 - u[at]);
    }
}

// The gradients of the input and of the output before the step.
extern "C" __global__ void inputs_gradient(T* dx, T* dh_before, const T* of_gates, const T* of_new_values, const T* r, const T* u, const T* dh, u32 n, u32 cells, u32 inputs) {
    const u32 width = inputs + cells;
    for (u64 at = thread_index(); at < n; at += thread_count()) {
        const u64 row = at / width, column = at % width;
        if (column < inputs) {
            dx[row * inputs + column] = of_gates[at] + of_new_values[at];
        } else {
            const u64 own = row * cells + column - inputs;
            dh_before[own] = of_gates[at] + of_new_values[at] * r[own] + dh[own] * u[own];
        }
    }
}
