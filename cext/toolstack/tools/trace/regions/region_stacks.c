/* Enters and leaves of regions. */
#include "regions/region_stacks.h"

#include <stdio.h>
#include <string.h>

#include "event_clock.h"
#include "regions/budget.h"
#include "regions/region_filter.h"
#include "regions/threads.h"
#include "tool.h"
#include "writer.h"

bool pse_trace_has_regions = true;

static uint64_t too_deep, without_begin, closed, of_other_threads;
static char first_without_begin[256]; /* name and place, of those that the source names */

static void end_thread(struct trace_thread *thread)
{
    pse_trace_close_thread(thread);
    pse_trace_forget_thread();
}

int pse_trace_configure_regions(void)
{
    pse_trace_thread_ends = end_thread;
    return pse_tool_choose("functions", "yes", "no", &pse_trace_has_regions) ||
           pse_trace_configure_budget() || pse_trace_read_filter();
}

/* Stacks */

void pse_trace_name_region(struct trace_region *region, uint64_t time)
{
    if (region->is_named)
        return;
    region->is_named = true;
    pse_recorder_text_at(pse_trace_recorder, time, PSE_TEXT_REGION, region->number, region->name);
    if (region->place[0])
        pse_recorder_text_at(pse_trace_recorder, time, PSE_TEXT_REGION_PLACE, region->number, region->place);
}

static inline void record_enter(struct trace_region *region, uint64_t time)
{
    if (!region->is_named)
        pse_trace_name_region(region, time);
    pse_trace_put(time, PSE_EVENT_REGION_ENTER, 0, region->number, 0, 0);
}

/* Put a frame on a stack; where there is no room it is only counted. */
static inline struct trace_frame *push(struct trace_thread *thread, struct trace_region *region,
                                       const void *stack)
{
    if (__builtin_expect(thread->depth >= thread->room, 0) && !pse_trace_has_room(thread)) {
        thread->depth++;
        too_deep++;
        return NULL;
    }
    struct trace_frame *frame = &thread->frames[thread->depth++];
    *frame = (struct trace_frame){region, 0, NULL, stack};
    region->open++;
    return frame;
}

/* The end of the top of a stack. */
static inline void pop(struct trace_thread *thread, uint64_t time)
{
    if (__builtin_expect(--thread->depth >= thread->room, 0))
        return;
    const struct trace_frame *frame = &thread->frames[thread->depth];
    frame->region->open--;
    if (thread->initial > thread->depth)
        thread->initial = thread->depth;
    if (frame->entered && pse_trace_recorder)
        pse_trace_put(time, PSE_EVENT_REGION_LEAVE, 0, frame->region->number, frame->entered, 0);
}

bool pse_trace_may_record(const struct trace_region *region)
{
    return (region->is_recorded || __atomic_load_n(&region->open, __ATOMIC_RELAXED)) && pse_trace_recorder;
}

/* The calling thread; NULL, counted, if it is not recorded. */
static inline struct trace_thread *thread_of_region(void)
{
    struct trace_thread *thread = pse_trace_this_thread();
    if (__builtin_expect(!thread, 0))
        __atomic_fetch_add(&of_other_threads, 1, __ATOMIC_RELAXED);
    return thread;
}

static inline bool is_of_interest(const struct trace_region *region)
{
    return pse_trace_may_record(region) && !pse_trace_is_writing();
}

PSE_TRACE_HOT bool pse_trace_enter_region(struct trace_region *region, const void *stack)
{
    struct trace_thread *thread = is_of_interest(region) ? thread_of_region() : NULL;
    if (!thread || !pse_trace_begin_records())
        return false;
    struct trace_frame *frame = push(thread, region, stack);
    if (frame && region->is_recorded) {
        frame->entered = pse_trace_now;
        record_enter(region, pse_trace_now);
        pse_trace_count_call(region, pse_trace_now);
    }
    pse_trace_unlock();
    return true;
}

void pse_trace_close_above(struct trace_thread *thread, unsigned depth, uint64_t time)
{
    while (thread->depth > depth)
        pop(thread, time);
}

/* Where a region is on a stack, from its top; none: its depth. */
static unsigned find_frame(const struct trace_thread *thread, const struct trace_region *region)
{
    unsigned at = thread->depth < thread->room ? thread->depth : thread->room;
    while (at > 0)
        if (thread->frames[--at].region == region)
            return at;
    return thread->depth;
}

void pse_trace_ended_without_begin(const char *name, const char *file, int line)
{
    if (!pse_trace_begin_records())
        return;
    if (!first_without_begin[0] && line)
        snprintf(first_without_begin, sizeof first_without_begin, ": first that of %s in %s:%d", name, file,
                 line);
    else if (!first_without_begin[0])
        snprintf(first_without_begin, sizeof first_without_begin, ": first that of %s", name);
    without_begin++;
    pse_trace_unlock();
}

/* What is left is not the innermost region. */
__attribute__((cold, noinline)) static void
leave_with_inner(struct trace_thread *thread, const struct trace_region *region, bool was_entered)
{
    const unsigned at = thread->depth > thread->room ? thread->depth - 1 : find_frame(thread, region);
    if (at == thread->depth) {
        without_begin += was_entered;
        return;
    }
    closed += thread->depth - 1 - at;
    pse_trace_close_above(thread, at, pse_trace_now);
}

PSE_TRACE_HOT void pse_trace_leave_region(const struct trace_region *region, bool was_entered)
{
    struct trace_thread *thread = is_of_interest(region) ? pse_trace_this_thread() : NULL;
    if (!thread || !pse_trace_begin_records())
        return;
    const unsigned top = thread->depth - 1; /* Too large, of an empty stack. */
    if (__builtin_expect(top < thread->room && thread->frames[top].region == region, 1))
        pop(thread, pse_trace_now);
    else
        leave_with_inner(thread, region, was_entered);
    pse_trace_unlock();
}

/* The begin and the end of recording */

void pse_trace_enter_early(struct trace_region *region, const void *identity, const void *stack)
{
    struct trace_thread *thread = pse_trace_this_thread();
    struct trace_frame *frame = thread && region->is_recorded ? push(thread, region, stack) : NULL;
    if (frame)
        frame->identity = identity;
    if (frame && identity)
        thread->initial = thread->depth;
}

void pse_trace_begin_regions(uint64_t time)
{
    const struct trace_thread *thread = pse_trace_this_thread();
    pse_trace_start_budget(time);
    for (unsigned i = 0; thread && i < thread->depth && i < thread->room; i++) {
        thread->frames[i].entered = time;
        record_enter(thread->frames[i].region, time);
    }
}

void pse_trace_close_thread(struct trace_thread *thread)
{
    pse_trace_lock();
    pse_trace_close_above(thread, 0, pse_trace_clock());
    pse_trace_unlock();
}

/* A note on so many, if any: what is said of one, of several, and of all. */
static void note(uint64_t count, const char *one, const char *several, const char *rest)
{
    static uint32_t number = 1u << 16; /* those of regions are below */
    char text[512];
    if (!count)
        return;
    snprintf(text, sizeof text, "%" PRIu64 " %s%s", count, count == 1 ? one : several, rest);
    pse_recorder_text_at(pse_trace_recorder, pse_trace_clock(), PSE_TEXT_NOTE, number++, text);
}

/* Named regions that lie in themselves when recording ends: most likely they have no end. */
static uint64_t named_in_themselves(const struct trace_thread *thread)
{
    uint64_t count = 0;
    for (unsigned i = 1; i < thread->depth && i < thread->room; i++) {
        const struct trace_frame *frame = &thread->frames[i];
        count += frame->stack && frame->region == frame[-1].region;
    }
    return count;
}

void pse_trace_end_regions(void)
{
    uint64_t without_end = 0;
    for (struct trace_thread *thread = pse_trace_all_threads; thread; thread = thread->next) {
        without_end += named_in_themselves(thread);
        pse_trace_write_for(thread);
        pse_trace_close_above(thread, 0, pse_trace_clock());
    }
    pse_trace_write_for(NULL);
    pse_trace_note_budget();
    note(too_deep, "call of a region nested deeper than 4,096 is left out",
         "calls of regions nested deeper than 4,096 are left out", "");
    note(pse_trace_regions_without_room, "enter of a region beyond the first 32,768 is left out",
         "enters of regions beyond the first 32,768 are left out", "");
    note(of_other_threads, "call of a region by another thread is left out",
         "calls of regions by other threads are left out", ": the program asks for MPI_THREAD_SINGLE");
    note(without_begin, "end of a region that was not entered is left out",
         "ends of regions that were not entered are left out", first_without_begin);
    note(closed, "region that was not left ends with the one around it",
         "regions that were not left end with the one around them", "");
    note(without_end, "region was entered in itself and never left",
         "regions were entered in themselves and never left", ": is PSE_REGION_END missing?");
}
