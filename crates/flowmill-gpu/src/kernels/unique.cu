// A table of the first of equal elements, whose slots hold the number of an element plus one, or zero.
static __device__ u32 hash(T element) {
    // Positive and negative zero are equal.
    const C value = (C)element == (C)0 ? (C)0 : (C)element;
    u64 bits = 0;
    const unsigned char* bytes = (const unsigned char*)&value;
    for (u32 i = 0; i < sizeof(C); i++) bits |= (u64)bytes[i] << (8 * i);
    bits ^= bits >> 33;
    bits *= 0xff51afd7ed558ccdull;
    bits ^= bits >> 33;
    return (u32)(bits ^ bits >> 29);
}

// Finds the slot of an element's equals, or a free one. A slot is never freed, and only equal elements replace each other. NaN equals nothing.
static __device__ u32 slot_of(u32* table, u32 mask, const T* in, u32 i) {
    u32 slot = ((C)in[i] == (C)in[i] ? hash(in[i]) : i * 2654435761u) & mask;
    for (;; slot = (slot + 1) & mask) {
        const u32 found = atomicCAS(&table[slot], 0u, i + 1);
        if (found == 0 || found == i + 1 || (C)in[found - 1] == (C)in[i]) return slot;
    }
}

extern "C" __global__ void insert(u32* slots, u32* table, u32 mask, const T* in, u32 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        slots[i] = slot_of(table, mask, in, (u32)i);
        atomicMin(&table[slots[i]], (u32)i + 1);
    }
}

// Marks the first of equal elements.
extern "C" __global__ void mark_first(u32* is_first, const u32* slots, const u32* table, u32 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) is_first[i] = table[slots[i]] == (u32)i + 1;
}

// Stores the first elements, and for each element the number of the first of its equals; counts equal elements unless `counts` is null.
extern "C" __global__ void store(T* values, I* indices, I* counts, const T* in, const u32* slots, const u32* table, const u32* numbers, u32 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 first = table[slots[i]] - 1, number = numbers[first];
        indices[i] = (I)number;
        if (first == (u32)i) values[number] = in[i];
        if (counts) atomicAdd((Count*)&counts[number], (Count)1);
    }
}
