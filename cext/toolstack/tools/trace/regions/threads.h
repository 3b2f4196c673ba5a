/* Threads of the rank: a number and a stack of open regions each. */
#ifndef PSE_TRACE_THREADS_H
#define PSE_TRACE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool.h"

struct known_stacks;
struct trace_region;

enum { PSE_TRACE_DEEPEST = 4096 }; /* Regions nested deeper are not recorded. */

/* A region that was entered and not yet left. */
struct trace_frame {
    struct trace_region *region;
    uint64_t entered;     /* as recorded; 0: it is not recorded */
    const void *identity; /* of a frame of Python that runs since before recording began; else NULL */
    const void *stack;    /* where a named region was entered; else NULL */
};

struct trace_thread {
    uint32_t number; /* 0: the one that initialised MPI */
    bool is_used;
    uint64_t began;       /* ns: when it was started, until that is recorded; 0: not known */
    uint64_t ended;       /* ns: when the last one with the number ended; 0: none did */
    unsigned depth, room; /* depth counts frames that found no room, too */
    unsigned initial;     /* frames of Python at the bottom that ran before recording began */
    struct trace_frame *frames;
    struct known_stacks *stacks; /* callers.c's */
    struct trace_thread *next;
};

#pragma GCC visibility push(hidden)

extern struct trace_thread *pse_trace_all_threads;
extern TOOL_THREAD_LOCAL struct trace_thread *pse_trace_own_thread; /* NULL: not known yet */
extern struct trace_thread *pse_trace_initial_thread;               /* that initialised MPI */
extern uintptr_t pse_trace_initial_self; /* its pse_tool_self; 0 when it has ended */
extern bool pse_trace_is_alone;          /* only the first thread is recorded */
/* Called by a thread that ends. */
extern void (*pse_trace_thread_ends)(struct trace_thread *thread);
extern unsigned long long (*pse_trace_thread_began)(void); /* of struct pse_region_hooks; may be NULL */

/* The calling thread.  NULL without memory, or if it is not to be recorded: MPI_THREAD_SINGLE promises one
 * thread, and records are not protected then. */
static inline struct trace_thread *pse_trace_this_thread(void);
__attribute__((cold)) struct trace_thread *pse_trace_look_for_thread(void);
/* The calling thread initialises MPI: it becomes number 0.  `alone`: MPI_THREAD_SINGLE. */
void pse_trace_first_thread(bool alone);
/* Make room for one more frame; false if it is to be counted only. */
__attribute__((cold)) bool pse_trace_has_room(struct trace_thread *thread);

#pragma GCC visibility pop

static inline bool pse_trace_is_initial(void)
{
    return pse_tool_self() == pse_trace_initial_self;
}

/* The calling thread if it is known. */
static inline struct trace_thread *pse_trace_known_thread(void)
{
    return __builtin_expect(pse_trace_is_initial(), 1) ? pse_trace_initial_thread : pse_trace_own_thread;
}

static inline struct trace_thread *pse_trace_this_thread(void)
{
    struct trace_thread *own = pse_trace_known_thread();
    const bool is_known = own && (own == pse_trace_initial_thread || !pse_trace_is_alone);
    return __builtin_expect(is_known, 1) ? own : pse_trace_look_for_thread();
}

#endif
