/* Frames of Python that run already when recording begins. */
#include "python/python_frames.h"

#include <stddef.h>

#include "event_clock.h"
#include "python/python_regions.h"
#include "python_api.h"
#include "regions/region_stacks.h"
#include "regions/threads.h"
#include "tool.h"
#include "writer.h"

static bool is_running(const struct pse_python_api *python, const void *wanted)
{
    void *frame = python->frame(), *owned = NULL;
    while (frame && frame != wanted)
        frame = pse_python_caller(python, frame, &owned);
    if (owned)
        python->forget(owned);
    return frame != NULL;
}

/* The main module's frame runs as long as Python does. */
static void close_ended(const struct pse_python_api *python, struct trace_thread *thread)
{
    unsigned left = thread->initial;
    while (left > 1 && !is_running(python, thread->frames[left - 1].identity))
        left--;
    if (left == thread->initial)
        return;
    pse_trace_lock();
    pse_trace_close_above(thread, left, pse_trace_clock());
    pse_trace_unlock();
}

void pse_trace_close_ended_frames(void)
{
    struct trace_thread *thread = pse_trace_this_thread();
    if (thread && thread->initial > 1)
        close_ended(pse_python_api(), thread);
}

void pse_trace_check_python_frames(void)
{
    struct trace_thread *thread = pse_trace_this_thread();
    if (!thread)
        return;
    const struct pse_python_api *python = pse_python_api();
    if (!python) {
        pse_trace_close_thread(thread); /* Python has ended before MPI. */
    } else if (thread->initial > 1) {
        const int state = python->ensure();
        close_ended(python, thread);
        python->release(state);
    }
}

void pse_trace_take_python_frames(bool will_end)
{
    enum { MOST = 256 };
    const struct pse_python_api *python = pse_python_api();
    void *frames[MOST], *owned[MOST], *frame = python->frame();
    int count = 0;
    for (; frame && count < MOST; frame = python->back(frame)) {
        owned[count] = count ? frame : NULL;
        frames[count++] = frame;
    }
    for (int i = count; i-- > 0;) {
        void *code = python->code(frames[i]);
        struct trace_region *region = pse_trace_python_region(code);
        if (region)
            pse_trace_enter_early(region, will_end ? NULL : frames[i], NULL);
        python->forget(code);
        if (owned[i])
            python->forget(owned[i]);
    }
}
