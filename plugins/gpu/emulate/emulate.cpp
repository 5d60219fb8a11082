/* A thread that never yields leaves its stack to the next one, so kernels without barriers need one stack only. */
#include "emulate.h"

#include <stdlib.h>

#include "context.h"
#include "launch.h"

thread_local gpu_emulated gpu_now;

namespace {

const size_t stack_bytes = 128 << 10;
const int wave = GPU_EMULATE_WAVE;

struct fiber {
    gpu_context context;
    char *stack;
    gpu_dim3 thread;
    bool started, done;
    alignas(16) unsigned char slot[16];
};

/* A barrier of `alive` threads, of which `waiting` have come in this round. */
struct gate {
    int alive, waiting;
    unsigned round;
};

struct block_run {
    gpu_context scheduler;
    fiber *fibers;
    int count, current;
    gate all, *waves;
    const gpu_emulated_kernel *kernel;
    const void *args;
};

thread_local block_run *run;

/* Stacks without a fiber: this thread's launches leave them to the next. There are never more than fibers in a block. */
struct stack_list {
    char *items[1024];
    int count;
    ~stack_list() {
        while (count) free(items[--count]);
    }
};

thread_local stack_list spare;

fiber *me() { return &run->fibers[run->current]; }
gate *my_wave() { return &run->waves[run->current / wave]; }

void yield() {
    fiber *f = me();
    gpu_context_switch(&f->context, &run->scheduler);
}

void open_gate(gate *g) {
    g->waiting = 0;
    ++g->round;
}

void pass(gate *g) {
    unsigned round = g->round;
    if (++g->waiting == g->alive)
        open_gate(g);
    else
        while (g->round == round) yield();
}

void leave(gate *g) {
    if (--g->alive && g->waiting == g->alive) open_gate(g);
}

void fiber_main() {
    run->kernel->run(run->args);
    me()->done = true;
    leave(my_wave());
    leave(&run->all);
    yield();
    abort(); /* a done fiber is never resumed */
}

bool start(fiber *f) {
    f->stack = spare.count ? spare.items[--spare.count] : static_cast<char *>(malloc(stack_bytes));
    if (!f->stack) return false;
    gpu_context_make(&f->context, f->stack, stack_bytes, fiber_main);
    f->started = true;
    return true;
}

void leave_stack(fiber *f) {
    if (f->stack) spare.items[spare.count++] = f->stack;
    f->stack = nullptr;
}

/* Runs a fiber until it yields or ends. */
bool resume(int i) {
    fiber *f = &run->fibers[i];
    run->current = i;
    gpu_now.thread = f->thread;
    if (!f->started && !start(f)) return false;
    gpu_context_switch(&run->scheduler, &f->context);
    if (f->done) leave_stack(f);
    return true;
}

void begin_block(const unsigned block[3]) {
    for (int i = 0; i < run->count; ++i) {
        fiber *f = &run->fibers[i];
        unsigned u = static_cast<unsigned>(i);
        f->thread = gpu_dim3{u % block[0], u / block[0] % block[1], u / (block[0] * block[1])};
        f->started = f->done = false;
    }
    run->all = gate{run->count, 0, 0};
    for (int w = 0; w * wave < run->count; ++w)
        run->waves[w] = gate{run->count - w * wave < wave ? run->count - w * wave : wave, 0, 0};
}

bool run_block(const unsigned block[3]) {
    begin_block(block);
    while (run->all.alive)
        for (int i = 0; i < run->count; ++i)
            if (!run->fibers[i].done && !resume(i)) return false;
    return true;
}

bool run_grid(const unsigned grid[3], const unsigned block[3]) {
    for (unsigned z = 0; z < grid[2]; ++z)
        for (unsigned y = 0; y < grid[1]; ++y)
            for (unsigned x = 0; x < grid[0]; ++x) {
                gpu_now.block = gpu_dim3{x, y, z};
                if (!run_block(block)) return false;
            }
    return true;
}

} // namespace

void gpu_emulate_barrier() { pass(&run->all); }

void gpu_emulate_shuffle(const void *in, void *out, size_t bytes, int source) {
    memcpy(me()->slot, in, bytes);
    pass(my_wave());
    int lane = run->current / wave * wave + source;
    bool there = source >= 0 && source < wave && lane < run->count && !run->fibers[lane].done;
    unsigned char value[16];
    memcpy(value, there ? run->fibers[lane].slot : me()->slot, bytes);
    pass(my_wave());
    memcpy(out, value, bytes);
}

extern "C" int gpu_emulate_wave(void) { return wave; }

namespace {

void release(block_run *r) {
    for (int i = 0; r->fibers && i < r->count; ++i) leave_stack(&r->fibers[i]);
    free(r->fibers);
    free(r->waves);
}

} // namespace

extern "C" int gpu_emulate_fits(const gpu_emulated_kernel *kernel, const unsigned grid[3], const unsigned block[3],
                                size_t dynamic_shared_bytes) {
    for (int d = 0; d < 3; ++d)
        if (!grid[d] || !block[d] || block[d] > 1024 || (d && grid[d] > 65535)) return 0;
    return block[0] * block[1] * block[2] <= kernel->max_threads && dynamic_shared_bytes <= GPU_EMULATED_SHARED_BYTES;
}

extern "C" int gpu_emulate_launch(const gpu_emulated_kernel *kernel, const unsigned grid[3], const unsigned block[3],
                                  size_t dynamic_shared_bytes, const void *args) {
    if (!gpu_emulate_fits(kernel, grid, block, dynamic_shared_bytes)) return GPU_EMULATE_DOES_NOT_FIT;
    block_run r = {};
    r.count = static_cast<int>(block[0] * block[1] * block[2]);
    size_t n = static_cast<size_t>(r.count);
    r.fibers = static_cast<fiber *>(calloc(n, sizeof(fiber)));
    r.waves = static_cast<gate *>(calloc(n / wave + 1, sizeof(gate)));
    r.kernel = kernel;
    r.args = args;
    unsigned char *shared = static_cast<unsigned char *>(malloc(dynamic_shared_bytes + !dynamic_shared_bytes));
    gpu_now.block_dim = gpu_dim3{block[0], block[1], block[2]};
    gpu_now.grid_dim = gpu_dim3{grid[0], grid[1], grid[2]};
    gpu_now.dynamic_shared = shared;
    run = &r;
    bool ok = r.fibers && r.waves && shared && run_grid(grid, block);
    run = nullptr;
    release(&r);
    free(shared);
    return ok ? GPU_EMULATE_DONE : GPU_EMULATE_NO_MEMORY;
}
