/* Unwinding, and the numbers of callers. */
#include "regions/callers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "call_site.h"
#include "event_clock.h"
#include "hot.h"
#include "python_api.h"
#include "regions/budget.h"
#include "regions/compiled_regions.h"
#include "regions/region_stacks.h"
#include "regions/region_table.h"
#include "regions/threads.h"
#include "tool.h"
#include "writer.h"

enum { NOTE_NUMBER = 1 << 17 }; /* others of this tool are below */
enum {
    DEEPEST = 32,
    KNOWN_STACKS = 255,
    PROBES = 8,
    MOST_CALLERS = 1 << 16,
    CALLERS_SLOTS = 2 * MOST_CALLERS
};

/* A stack that has been unwound: of most stacks two lines of the cache are looked at. */
struct known_stack {
    const void *site;  /* where the call returns to; NULL: nothing is known */
    const char *frame; /* of the wrapper */
    const void *named; /* where the innermost named region was entered */
    uint32_t callers;
    unsigned depth;
    struct {
        void *const *slot;
        const void *address; /* what the slot holds */
    } returns[DEEPEST + 1];
} __attribute__((aligned(64)));

/* Those of a thread, in the order in which they were first seen, and where each is: a table of them would
 * have each on a page of its own.  Calls of a function that its caller calls in several places have their
 * site and frame in common; so a call has some places, and the stack in the last of them makes room for a new
 * one. */
struct known_stacks {
    uint8_t numbers[KNOWN_STACKS]; /* from 1; 0: there is none */
    unsigned count;
    struct known_stack known[KNOWN_STACKS];
} __attribute__((aligned(PSE_TRACE_PAGE)));

PSE_TRACE_HOT_DATA bool pse_trace_finds_callers;

static unsigned most = DEEPEST;
static bool is_instrumented, is_too_dear;

int pse_trace_configure_callers(void)
{
    const char *given = pse_tool_argument("depth");
    char *end;
    if (!given)
        return 0;
    const long depth = strtol(given, &end, 10);
    if (end == given || *end || depth < 0 || depth > DEEPEST)
        return pse_tool_refuse_argument("depth", given,
                                        "a number from 0 to %d, how many functions of compiled code around a "
                                        "call of MPI are found",
                                        DEEPEST);
    most = (unsigned)depth;
    return 0;
}

void pse_trace_begin_callers(void)
{
    pse_trace_finds_callers = most > 0 && !is_instrumented && !pse_python_api();
}

void pse_trace_end_callers(void)
{
    is_instrumented = true;
    pse_trace_finds_callers = false;
}

void pse_trace_note_callers(void)
{
    static const char text[] =
        "from some time on functions that call MPI are not shown: to find all of them on "
        "the stack would take too much of the run's time";
    if (is_too_dear)
        pse_recorder_text_at(pse_trace_recorder, pse_trace_clock(), PSE_TEXT_NOTE, NOTE_NUMBER, text);
}

/* Numbers: a caller and the number of those around it. */

static struct {
    const struct trace_region *region;
    uint32_t around;
} numbered[MOST_CALLERS];
static uint32_t slots[CALLERS_SLOTS], count = 1;

/* The number of a region below others, defined in the trace if it is new; 0: there is no room.  The lock is
 * held. */
static uint32_t number_of(struct trace_region *region, uint32_t around, uint64_t time)
{
    const uint64_t key = ((uint64_t)around << 32 | region->number) * 0x9e3779b97f4a7c15u;
    uint32_t slot = (uint32_t)(key >> 40) % CALLERS_SLOTS, number;
    while ((number = slots[slot]) && (numbered[number].region != region || numbered[number].around != around))
        slot = (slot + 1) % CALLERS_SLOTS;
    if (number || count == MOST_CALLERS)
        return number;
    pse_trace_name_region(region, time);
    pse_trace_put(time, PSE_EVENT_CALLERS, 0, count, pse_pair(region->number, around), 0);
    numbered[count].region = region;
    numbered[count].around = around;
    return slots[slot] = count++;
}

/* Unwinding */

struct walk {
    struct known_stack *found;
    const char *previous; /* stack pointer of the frame before */
    bool is_begun, is_whole;
    unsigned functions;
    void *starts[DEEPEST]; /* of functions, from the innermost */
};

/* Where a return address is on the stack; NULL: it is not. */
static void *const *slot_of(const char *from, const char *to, const void *address)
{
    for (void *const *slot = (void *const *)(const void *)to; (const char *)slot > from;)
        if (*--slot == address)
            return slot;
    return NULL;
}

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    struct known_stack *found = walk->found;
    const void *address = (const void *)_Unwind_GetIP(context);
    const char *pointer = (const char *)_Unwind_GetCFA(context); /* when the call returns */
    walk->is_begun |= address == found->site && pointer > found->frame;
    if (!walk->is_begun)
        return _URC_NO_REASON;
    /* What is outside of the innermost named region is left out; the end has no address. */
    if (!address || (found->named && pointer > (const char *)found->named)) {
        walk->is_whole = true;
        return _URC_NORMAL_STOP;
    }
    void *const *slot = slot_of(walk->previous ? walk->previous : found->frame, pointer, address);
    if (!slot || found->depth > DEEPEST)
        return _URC_NORMAL_STOP;
    walk->previous = pointer;
    found->returns[found->depth].slot = slot;
    found->returns[found->depth++].address = address;
    if (walk->functions || !pse_call_site_is_between((char *)address - 1))
        walk->starts[walk->functions++] = (void *)_Unwind_GetRegionStart(context);
    walk->is_whole = walk->functions == most;
    return walk->is_whole ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

static bool begins(const struct trace_region *region, const char *with)
{
    return region && strncmp(region->name, with, strlen(with)) == 0;
}

/* How many functions, from the innermost, are the program's: main is the outermost one, or without its name
 * what the C library calls; of a thread, what the preloaded object calls. */
static unsigned count_own(struct trace_region *const regions[], void *const starts[], unsigned functions)
{
    unsigned own = functions;
    for (unsigned i = 0; i < functions; i++)
        if (regions[i] && strcmp(regions[i]->name, "main") == 0)
            own = i + 1;
        else if (begins(regions[i], "__libc_start") && own == functions)
            own = i;
    while (own > 0 && (begins(regions[own - 1], "libc.so") || pse_call_site_is_between(starts[own - 1])))
        own--;
    return own;
}

/* The number of the functions that were found, from the outermost. */
static uint32_t number_functions(const struct walk *walk, uint64_t time)
{
    struct trace_region *regions[DEEPEST];
    uint32_t number = 0;
    for (unsigned i = 0; i < walk->functions; i++)
        regions[i] = walk->starts[i] ? pse_trace_define_function(walk->starts[i]) : NULL;
    const unsigned own = count_own(regions, walk->starts, walk->functions);
    pse_trace_lock();
    time = time ? time : pse_trace_clock();
    for (unsigned i = own; pse_trace_recorder && i-- > 0;)
        if (regions[i] && regions[i]->is_recorded)
            number = number_of(regions[i], number, time);
    pse_trace_unlock();
    return number;
}

static void unwind(struct known_stack *stack, uint64_t time)
{
    struct walk walk = {.found = stack};
    stack->depth = 0;
    _Unwind_Backtrace(take_frame, &walk);
    stack->callers = number_functions(&walk, time);
    if (!walk.is_whole)
        stack->site = NULL; /* What can't be checked is not known the next time. */
}

static bool is_still(const struct known_stack *stack)
{
    for (unsigned i = 0; i < stack->depth; i++)
        if (*stack->returns[i].slot != stack->returns[i].address)
            return false;
    return true;
}

static const void *innermost_named(const struct trace_thread *thread)
{
    const bool has_frame = thread->depth && thread->depth <= thread->room;
    return has_frame ? thread->frames[thread->depth - 1].stack : NULL;
}

__attribute__((cold, noinline)) static uint32_t look(struct known_stack *stack, const void *site,
                                                     const char *frame, const void *named, uint64_t time)
{
    enum { FRAME_NS = 250 };
    stack->site = site;
    stack->frame = frame;
    stack->named = named;
    unwind(stack, time);
    is_too_dear |= !pse_trace_may_spend((uint64_t)FRAME_NS * (stack->depth + 4), pse_clock());
    pse_trace_finds_callers &= !is_too_dear;
    return stack->callers;
}

static struct known_stacks *new_stacks(void)
{
    struct known_stacks *made = aligned_alloc(_Alignof(struct known_stacks), sizeof *made);
    return made ? memset(made, 0, offsetof(struct known_stacks, known)) : NULL;
}

static inline bool is_known(const struct known_stack *stack, const void *site, const char *frame,
                            const void *named)
{
    return stack->site == site && stack->frame == frame && stack->named == named && is_still(stack);
}

/* The known stack of a call, or one without a site to put it in. */
static inline struct known_stack *stack_of(struct known_stacks *stacks, const void *site, const char *frame,
                                           const void *named)
{
    const uint64_t key = ((uint64_t)(uintptr_t)site ^ (uint64_t)(uintptr_t)frame << 7) * 0x9e3779b97f4a7c15u;
    struct known_stack *stack = NULL;
    for (uint64_t place = key >> 32; place < (key >> 32) + PROBES; place++) {
        uint8_t *number = &stacks->numbers[place % KNOWN_STACKS];
        if (__builtin_expect(!*number, 0)) {
            stacks->known[stacks->count].site = NULL;
            *number = (uint8_t)++stacks->count;
            return &stacks->known[*number - 1];
        }
        stack = &stacks->known[*number - 1];
        if (__builtin_expect(!stack->site || is_known(stack, site, frame, named), 1))
            return stack;
    }
    stack->site = NULL;
    return stack;
}

PSE_TRACE_HOT uint32_t pse_trace_callers_of(const void *site, const char *frame, uint64_t time)
{
    struct trace_thread *thread = pse_trace_this_thread();
    if (!thread || (!thread->stacks && !(thread->stacks = new_stacks())))
        return 0;
    const void *named = innermost_named(thread);
    struct known_stack *stack = stack_of(thread->stacks, site, frame, named);
    if (__builtin_expect(stack->site != NULL, 1))
        return stack->callers;
    return pse_trace_is_writing() ? 0 : look(stack, site, frame, named, time);
}
