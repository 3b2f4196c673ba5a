/* MPI's own waits, made to pause as backoff.h says.
 *
 * MPICH looks for progress and then calls sched_yield, again and again, until what it waits for is there.
 * Here that call is answered: what MPI yields in becomes a pause, in all of its blocking routines, with their
 * own algorithms.  No routine needs another form then, and nothing is added to messages.
 *
 * A thread says before each call of MPI whether that waits: what only looks (MPI_Test) must not pause. */
#ifndef PSE_COOPWAIT_OWN_WAITS_H
#define PSE_COOPWAIT_OWN_WAITS_H

#include <stdbool.h>

#include "backoff.h"
#include "tool.h"

#pragma GCC visibility push(hidden)

enum pse_coopwait_mode {
    PSE_COOPWAIT_OTHER, /* a call that isn't known: yields are MPI's */
    PSE_COOPWAIT_LOOKS,
    PSE_COOPWAIT_WAITS,
};

/* Of this thread: what kind of call it is in, and its wait. */
struct pse_coopwait_thread {
    enum pse_coopwait_mode mode;
    pse_backoff wait;
};
extern TOOL_THREAD_LOCAL struct pse_coopwait_thread pse_coopwait_thread;

/* Whether the node's ranks have to share cores. */
extern enum pse_backoff_cores pse_coopwait_cores;

/* Whether all ranks' MPI waits in this way; until pse_coopwait_take_over has found that, none does. */
extern bool pse_coopwait_is_own;

/* After MPI_Init, by all ranks. */
void pse_coopwait_take_over(void);

/* Operations whose algorithm is chosen at each call; then how many there are. */
enum pse_coopwait_operation {
    PSE_COOPWAIT_BCAST,
    PSE_COOPWAIT_ALLREDUCE,
    PSE_COOPWAIT_REDUCE,
    PSE_COOPWAIT_CHOSEN,
};

/* Have so much data passed on by messages where that is quicker; says whether it is, until the usual is
 * chosen.  All ranks of a call say alike how much it is. */
bool pse_coopwait_choose_messages(enum pse_coopwait_operation operation, MPI_Count count, MPI_Datatype type);
void pse_coopwait_choose_usual(enum pse_coopwait_operation operation);

#pragma GCC visibility pop

/* Begin a call; gives what pse_coopwait_leave wants.  In some calls each look moves data, so what one takes
 * that finds nothing is known from earlier calls; it may get longer. */
static inline enum pse_coopwait_mode pse_coopwait_enter(enum pse_coopwait_mode mode)
{
    const enum pse_coopwait_mode outer = pse_coopwait_thread.mode;
    const uint64_t quickest = pse_coopwait_thread.wait.quickest;
    pse_coopwait_thread = (struct pse_coopwait_thread){
        .mode = mode,
        .wait = {.patient = true, .cores = pse_coopwait_cores, .quickest = quickest + quickest / 64}};
    return outer;
}

static inline void pse_coopwait_leave(enum pse_coopwait_mode outer)
{
    pse_coopwait_thread.mode = outer;
}

/* Return what a call gives that waits by itself, where MPI's own waits are fine. */
#define RETURN_OWN(call)                                                                                     \
    if (pse_coopwait_is_own) {                                                                               \
        const enum pse_coopwait_mode outer = pse_coopwait_enter(PSE_COOPWAIT_WAITS);                         \
        const int returned = call;                                                                           \
        pse_coopwait_leave(outer);                                                                           \
        return returned;                                                                                     \
    }

/* The same for an operation whose algorithm is chosen. */
#define RETURN_CHOSEN(operation, count, type, call)                                                          \
    if (pse_coopwait_choose_messages(operation, count, type)) {                                              \
        const enum pse_coopwait_mode outer = pse_coopwait_enter(PSE_COOPWAIT_WAITS);                         \
        const int returned = call;                                                                           \
        pse_coopwait_leave(outer);                                                                           \
        pse_coopwait_choose_usual(operation);                                                                \
        return returned;                                                                                     \
    }

#endif
