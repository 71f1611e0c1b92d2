// Runs a launch: each thread of a kernel is a fiber, and a barrier yields to the other fibers of the block.
//
// Threads that meet no barrier run one after another on one fiber. A thread that waits at a barrier keeps its fiber, and another fiber takes the
// following threads. Every other block runs its threads in descending order, so that a missing barrier shows in the results.

#include <cstddef>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

struct Dim3 {
    unsigned x, y, z;
};
struct Place {
    Dim3 thread, block, threads, blocks;
};
struct Launch {
    void (*run)(void** arguments);
    void** arguments;
    Dim3 blocks, threads;
};

__thread Place stub_cuda_place;

namespace {

const size_t STACK = 128 << 10;
const size_t WARP = 32;

enum class State { Runs, AtBlockBarrier, AtWarpBarrier, Done };

struct Fiber {
    ucontext_t context;
    jmp_buf registers;
    void* stack;
    bool started;
};

struct Thread {
    State state = State::Runs;
    unsigned mask = 0;
    // The fiber of a thread that has waited at a barrier.
    Fiber* fiber = nullptr;
};

struct Scheduler {
    const Launch* launch = nullptr;
    std::vector<Fiber*> unused;
    std::vector<Thread> threads;
    std::vector<unsigned long long> lanes;
    std::vector<size_t> released;
    // The number of threads of the block that have begun.
    size_t begun = 0;
    size_t current = 0;
    bool descending = false;
    Fiber* running = nullptr;
    jmp_buf registers;

    ~Scheduler() {
        for (Fiber* fiber : unused) {
            munmap(fiber->stack, STACK);
            delete fiber;
        }
    }
};

thread_local Scheduler scheduler;

void enter(size_t thread) {
    scheduler.current = thread;
    const Dim3 n = scheduler.launch->threads;
    stub_cuda_place.thread = Dim3{(unsigned)(thread % n.x), (unsigned)(thread / n.x % n.y), (unsigned)(thread / n.x / n.y)};
}

// Returns from a fiber to the scheduler.
void yield_fiber() {
    if (!_setjmp(scheduler.running->registers)) _longjmp(scheduler.registers, 1);
}

void fiber_main() {
    Scheduler& s = scheduler;
    for (;;) {
        while (s.begun < s.threads.size()) {
            size_t number = s.begun++;
            enter(s.descending ? s.threads.size() - 1 - number : number);
            s.launch->run(s.launch->arguments);
            Thread& ended = s.threads[s.current];
            ended.state = State::Done;
            // The scheduler goes on after a thread that it resumed.
            if (ended.fiber) break;
        }
        s.unused.push_back(s.running);
        yield_fiber();
    }
}

void resume(Fiber* fiber) {
    Scheduler& s = scheduler;
    s.running = fiber;
    if (_setjmp(s.registers)) return;
    if (fiber->started) _longjmp(fiber->registers, 1);
    fiber->started = true;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = STACK;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, fiber_main, 0);
    setcontext(&fiber->context);
}

Fiber* unused_fiber() {
    Scheduler& s = scheduler;
    if (!s.unused.empty()) {
        Fiber* fiber = s.unused.back();
        s.unused.pop_back();
        return fiber;
    }
    Fiber* fiber = new Fiber();
    fiber->stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return fiber;
}

void wait_at(State barrier, unsigned mask) {
    Thread& self = scheduler.threads[scheduler.current];
    self.state = barrier;
    self.mask = mask;
    self.fiber = scheduler.running;
    yield_fiber();
}

// Resumes the threads of `released` one after another.
void resume_released() {
    Scheduler& s = scheduler;
    for (size_t t : s.released) s.threads[t].state = State::Runs;
    for (size_t i = 0; i < s.released.size(); i++) {
        size_t t = s.released[s.descending ? s.released.size() - 1 - i : i];
        enter(t);
        resume(s.threads[t].fiber);
    }
}

// Puts the threads of a warp that wait for each other into `released`, if all of them wait.
bool release_warp(size_t first) {
    Scheduler& s = scheduler;
    s.released.clear();
    unsigned mask = 0;
    for (size_t t = first; t < first + WARP && t < s.threads.size(); t++)
        if (s.threads[t].state == State::AtWarpBarrier) mask |= s.threads[t].mask;
    for (size_t t = first; t < first + WARP && t < s.threads.size(); t++) {
        if (!(mask >> (t - first) & 1) || s.threads[t].state == State::Done) continue;
        if (s.threads[t].state != State::AtWarpBarrier) return false;
        s.released.push_back(t);
    }
    return !s.released.empty();
}

// Returns false if threads wait at different barriers.
bool run_block() {
    Scheduler& s = scheduler;
    s.threads.assign(s.threads.size(), Thread());
    s.begun = 0;
    while (s.begun < s.threads.size()) resume(unused_fiber());
    for (;;) {
        bool resumed = false;
        for (size_t first = 0; first < s.threads.size(); first += WARP) {
            while (release_warp(first)) {
                resume_released();
                resumed = true;
            }
        }
        if (resumed) continue;
        s.released.clear();
        size_t done = 0;
        for (size_t t = 0; t < s.threads.size(); t++) {
            if (s.threads[t].state == State::Done) done++;
            if (s.threads[t].state == State::AtBlockBarrier) s.released.push_back(t);
        }
        if (done == s.threads.size()) return true;
        if (done + s.released.size() != s.threads.size()) return false;
        resume_released();
    }
}

}  // namespace

extern "C" void stub_cuda_sync_block() { wait_at(State::AtBlockBarrier, 0); }

extern "C" void stub_cuda_sync_warp(unsigned mask) { wait_at(State::AtWarpBarrier, mask); }

extern "C" unsigned long long* stub_cuda_lane(unsigned lane) { return &scheduler.lanes[scheduler.current / WARP * WARP + lane % WARP]; }

// Runs all blocks of a launch. Returns 0, or 1 if threads of a block wait at different barriers.
extern "C" int stub_cuda_launch(const Launch* launch) {
    Scheduler& s = scheduler;
    s.launch = launch;
    size_t threads = (size_t)launch->threads.x * launch->threads.y * launch->threads.z;
    s.threads.resize(threads);
    s.lanes.assign((threads + WARP - 1) / WARP * WARP, 0);
    stub_cuda_place.threads = launch->threads;
    stub_cuda_place.blocks = launch->blocks;
    for (unsigned z = 0; z < launch->blocks.z; z++) {
        for (unsigned y = 0; y < launch->blocks.y; y++) {
            for (unsigned x = 0; x < launch->blocks.x; x++) {
                stub_cuda_place.block = Dim3{x, y, z};
                s.descending = (x + y + z) % 2 == 1;
                if (!run_block()) return 1;
            }
        }
    }
    return 0;
}
