/* The timed loop.  One reading of the clock ends a phase and begins the next. */
#include "cycles.h"

#include "ticks.h"

typedef struct emulate_clock {
    uint64_t now;
    uint64_t computed; /* ticks of this cycle */
    double rate;
} emulate_clock;

static void compute(emulate_clock *clock, const pse_emulate_step *step, int first)
{
    uint64_t begin = first ? clock->now : pse_emulate_ticks();
    clock->now = pse_emulate_spin(begin, (uint64_t)(step->seconds * clock->rate));
    clock->computed += clock->now - begin;
}

static int run_steps(pse_emulate_rank *rank, const pse_emulate_step *first, const pse_emulate_step *end,
                     emulate_clock *clock)
{
    clock->computed = 0;
    for (const pse_emulate_step *step = first; step < end; step++) {
        if (step->kind == PSE_STEP_COMPUTE) {
            compute(clock, step, step == first);
            continue;
        }
        int error = pse_emulate_perform(rank, step);
        if (error)
            return error;
    }
    return 0;
}

int pse_emulate_run(pse_emulate_rank *rank, const pse_emulate_program *program, pse_emulate_times *times)
{
    static const pse_emulate_step BARRIER = {.kind = PSE_STEP_BARRIER};
    emulate_clock clock = {.now = pse_emulate_ticks(), .rate = program->ticks_rate};
    const double tick = 1.0 / program->ticks_rate;
    for (int64_t cycle = 0; cycle < program->cycles; cycle++) {
        const int64_t *variant = program->begins + cycle % program->variants;
        uint64_t begin = clock.now;
        int error = run_steps(rank, program->steps + variant[0], program->steps + variant[1], &clock);
        uint64_t end = pse_emulate_ticks();
        if (!error && program->synchronous)
            error = pse_emulate_perform(rank, &BARRIER);
        if (error)
            return error;
        clock.now = program->synchronous ? pse_emulate_ticks() : end;
        times[cycle] = (pse_emulate_times){
            .start = (double)(int64_t)(begin - program->origin) * tick,
            .compute = (double)clock.computed * tick,
            .communication = (double)(end - begin - clock.computed) * tick,
            .barrier = (double)(clock.now - end) * tick,
        };
    }
    return 0;
}
