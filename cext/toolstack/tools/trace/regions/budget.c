/* The budget of recording: what calls cost, and which region is switched off. */
#include "regions/budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "communicators.h"
#include "event_clock.h"
#include "tool.h"
#include "writer.h"

/* ns: of a call without its clocks, in compiled code and in Python; and what is free. */
enum { COMPILED_NS = 70, PYTHON_NS = 160, FREE_NS = 5000000 };

PSE_TRACE_HOT_DATA uint64_t pse_trace_spent;
PSE_TRACE_HOT_DATA uint32_t pse_trace_call_cost[2];

static double share = 0.02; /* of the run's time */
static uint64_t begin;

int pse_trace_configure_budget(void)
{
    const char *given = pse_tool_argument("budget");
    char *end;
    if (!given)
        return 0;
    const double percent = strtod(given, &end);
    if (end == given || *end || !(percent >= 0 && percent <= 100))
        return pse_tool_refuse_argument("budget", given,
                                        "a number from 0 to 100, the share of the run's time in percent that "
                                        "recording functions may cost");
    share = percent / 100;
    return 0;
}

void pse_trace_start_budget(uint64_t time)
{
    enum { LOOKS = 64 };
    const uint64_t before = pse_clock();
    for (int i = 0; i < LOOKS; i++)
        pse_clock();
    const uint32_t clocks = (uint32_t)(2 * (pse_clock() - before) / LOOKS);
    pse_trace_call_cost[false] = COMPILED_NS + clocks;
    pse_trace_call_cost[true] = PYTHON_NS + clocks;
    begin = time;
}

static bool is_switched_off(const struct trace_region *region)
{
    return region->calls > 0 && !region->is_recorded;
}

static uint64_t cost_of(const struct trace_region *region)
{
    return region->calls * pse_trace_call_cost[region->is_python];
}

static bool is_exceeded(uint64_t now)
{
    return share < 1 && (double)pse_trace_spent > share * (double)(now - begin) + FREE_NS;
}

bool pse_trace_may_spend(uint64_t ns, uint64_t now)
{
    __atomic_fetch_add(&pse_trace_spent, ns, __ATOMIC_RELAXED);
    return !is_exceeded(now);
}

void pse_trace_check_budget(uint64_t now)
{
    struct trace_region *dearest = NULL;
    if (!is_exceeded(now))
        return;
    for (unsigned i = 0; i < pse_trace_region_count(); i++) {
        struct trace_region *region = pse_trace_region(i);
        if (region->is_recorded && (!dearest || cost_of(region) > cost_of(dearest)))
            dearest = region;
    }
    if (!dearest)
        return;
    dearest->is_recorded = false;
    pse_trace_spent -= cost_of(dearest);
}

/* "solve (heat.py:14) is recorded for …" */
static void describe(const struct trace_region *region, char *text, size_t room)
{
    const char *slash = strrchr(region->place, '/'), *file = slash ? slash + 1 : region->place;
    const char *column = strrchr(file, ':');
    char place[256] = "";
    if (column)
        snprintf(place, sizeof place, " (%.*s)", (int)(column - file < 200 ? column - file : 200), file);
    snprintf(text, room,
             "%.160s%s is recorded for its first %" PRIu64
             " calls only: all would take more than %g %% of the run's time",
             region->name, place, region->calls, 100 * share);
}

void pse_trace_note_budget(void)
{
    unsigned others = 0;
    for (unsigned i = 0; i < pse_trace_region_count(); i++) {
        const struct trace_region *region = pse_trace_region(i);
        char text[512];
        if (!is_switched_off(region))
            continue;
        describe(region, text, sizeof text);
        pse_recorder_text_at(pse_trace_recorder, pse_trace_clock(), PSE_TEXT_NOTE, region->number, text);
        if (pse_trace_job_rank == 0 && others++ < 3)
            pse_tool_warn("%s", text);
    }
    if (others > 3)
        pse_tool_warn("so are %u other functions: pse analyze names them", others - 3);
}
