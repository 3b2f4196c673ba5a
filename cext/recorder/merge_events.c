#include "merge_events.h"

#include <string.h>

void pse_recorder_merge_events(const pse_event *a, uint64_t a_count, const pse_event *b, uint64_t b_count,
                               pse_event *out)
{
    const pse_event *a_end = a + a_count, *b_end = b + b_count;
    while (a < a_end && b < b_end)
        *out++ = b->time < a->time ? *b++ : *a++;
    memcpy(out, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}
