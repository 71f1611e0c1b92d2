// Adds a bias to each row of a product, and applies a function: 0 none, 1 ReLU, 2 GELU.
extern "C" __global__ void epilogue(T* out, const T* bias, u64 count, u32 columns, u32 has_bias, u32 function) {
    for (u64 i = thread_index(); i < count; i += thread_count()) {
        C x = (C)out[i];
        if (has_bias) x += (C)bias[i % columns];
        if (function == 1) x = larger<C>(x, 0);
        if (function == 2) x = (C)0.5 * x * (1 + tanh((C)0.7978845608028653559 * (x + (C)0.044715 * x * x * x)));
        out[i] = (T)x;
    }
}
