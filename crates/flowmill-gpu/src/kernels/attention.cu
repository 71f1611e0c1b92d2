// Attention: each block computes 32 rows and up to 128 columns of a head's result. It goes through the keys 32 at a time and keeps the greatest score
// and the sum of exponentials of each row, so that scores are never stored. `NUM_ARGS` tensors are arguments of the functions of scores.
enum { ROWS = 32, KEYS = 32, DEPTH = 32, WIDTH = 128, PER_ROW = 8 };

struct Sizes {
    u32 rows, keys, size, columns, row_tiles, column_tiles;
    // The distances of rows of query, key, value and result.
    u32 ld[4];
    u32 key_is_transposed;
    // The leading dimensions, and the distances of the matrices of query, key, value and result in them.
    u32 rank;
    u32 dims[MAX_RANK];
    u32 strides[4][MAX_RANK];
    // The distances of the arguments' elements in the leading dimensions, in rows and in keys.
    u32 arg_strides[NUM_PLACES][MAX_RANK];
    u32 arg_rows[NUM_PLACES];
    u32 arg_keys[NUM_PLACES];
};

static __device__ u32 offset(const Sizes& s, const u32* strides, u32 head) {
    u32 at = 0;
    for (int d = (int)s.rank - 1; d >= 0; d--) {
        at += head % s.dims[d] * strides[d];
        head /= s.dims[d];
    }
    return at;
}

// The place of a score in the arguments.
struct ScorePlace {
    const u32* row;
    const u32* along;
    u32 key;
    __device__ u32 arg(u32 i) const { return row[i] + key * along[i]; }
};

static __device__ float score(float v0, const ScorePlace& place/*PARAMETERS*/) {
/*STATEMENTS*/
}

// Merges the values of the eight threads that share a row.
static __device__ float greatest_of_row(float x) {
    for (int bits = PER_ROW / 2; bits > 0; bits /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, bits, PER_ROW));
    return x;
}
static __device__ float sum_of_row(float x) {
    for (int bits = PER_ROW / 2; bits > 0; bits /= 2) x += __shfl_xor_sync(0xffffffffu, x, bits, PER_ROW);
    return x;
}

extern "C" __global__ void __launch_bounds__(256) attention(float* out, const float* query, const float* key, const float* value, Sizes s/*PARAMETERS*/) {
    __shared__ float q[DEPTH][ROWS + 1];
    __shared__ float k[DEPTH][KEYS + 1];
    __shared__ float p[ROWS][KEYS + 1];
    __shared__ float v[KEYS][WIDTH];
    const u32 thread = threadIdx.x, row = thread / PER_ROW, own = thread % PER_ROW;
    const u32 column0 = blockIdx.x % s.column_tiles * WIDTH, tile = blockIdx.x / s.column_tiles;
    const u32 row0 = tile % s.row_tiles * ROWS, head = tile / s.row_tiles;
    query += offset(s, s.strides[0], head);
    key += offset(s, s.strides[1], head);
    value += offset(s, s.strides[2], head);
    out += offset(s, s.strides[3], head);
    u32 arg_row[NUM_PLACES];
    for (u32 i = 0; i < NUM_ARGS; i++) arg_row[i] = offset(s, s.arg_strides[i], head) + (row0 + row < s.rows ? row0 + row : 0) * s.arg_rows[i];
    float sums[WIDTH / PER_ROW] = {};
    float greatest = lowest<float>(), total = 0;
    for (u32 key0 = 0; key0 < s.keys; key0 += KEYS) {
        float scores[KEYS / PER_ROW] = {};
        for (u32 d0 = 0; d0 < s.size; d0 += DEPTH) {
            for (u32 i = thread; i < ROWS * DEPTH; i += 256) {
                const u32 r = i / DEPTH, d = i % DEPTH;
                q[d][r] = row0 + r < s.rows && d0 + d < s.size ? query[(u64)(row0 + r) * s.ld[0] + d0 + d] : 0.0f;
            }
            for (u32 i = thread; i < KEYS * DEPTH; i += 256) {
                // Neighbouring threads read neighbouring elements.
                const u32 j = s.key_is_transposed ? i % KEYS : i / DEPTH, d = s.key_is_transposed ? i / KEYS : i % DEPTH;
                const u64 at = s.key_is_transposed ? (u64)(d0 + d) * s.ld[1] + key0 + j : (u64)(key0 + j) * s.ld[1] + d0 + d;
                k[d][j] = key0 + j < s.keys && d0 + d < s.size ? key[at] : 0.0f;
            }
            __syncthreads();
            for (u32 d = 0; d < DEPTH; d++) {
                for (u32 j = 0; j < KEYS / PER_ROW; j++) scores[j] += q[d][row] * k[d][own + j * PER_ROW];
            }
            __syncthreads();
        }
        float most = lowest<float>();
        for (u32 j = 0; j < KEYS / PER_ROW; j++) {
            const u32 at = key0 + own + j * PER_ROW;
            if (at >= s.keys) {
                scores[j] = lowest<float>();
                continue;
            }
            const ScorePlace place = {arg_row, s.arg_keys, at};
            scores[j] = score(scores[j], place/*ARGUMENTS*/);
            most = fmaxf(most, scores[j]);
        }
        const float next = fmaxf(greatest, greatest_of_row(most));
        // Before the first score that is not minus infinity, nothing counts.
        const float scale = greatest == lowest<float>() ? 0.0f : expf(greatest - next);
        float part = 0;
        for (u32 j = 0; j < KEYS / PER_ROW; j++) {
            const bool counts = key0 + own + j * PER_ROW < s.keys && (next != lowest<float>() || scores[j] != scores[j]);
            const float weight = counts ? expf(scores[j] - next) : 0.0f;
            p[row][own + j * PER_ROW] = weight;
            part += weight;
        }
        total = total * scale + sum_of_row(part);
        greatest = next;
        for (u32 i = thread; i < KEYS * WIDTH; i += 256) {
            const u32 j = i / WIDTH, c = i % WIDTH;
            v[j][c] = key0 + j < s.keys && column0 + c < s.columns ? value[(u64)(key0 + j) * s.ld[2] + column0 + c] : 0.0f;
        }
        __syncthreads();
        for (u32 c = 0; c < WIDTH / PER_ROW; c++) {
            float sum = sums[c] * scale;
            for (u32 j = 0; j < KEYS; j++) sum += p[row][j] * v[j][own + c * PER_ROW];
            sums[c] = sum;
        }
        __syncthreads();
    }
    if (row0 + row >= s.rows) return;
    for (u32 c = 0; c < WIDTH / PER_ROW; c++) {
        const u32 column = column0 + own + c * PER_ROW;
        if (column < s.columns) out[(u64)(row0 + row) * s.ld[3] + column] = sums[c] / total;
    }
}
