#include "scan_events.h"

static void count_time(pse_recorder_scan *scan, uint64_t time)
{
    if (time < scan->last) {
        scan->backwards++;
        if (scan->last - time > scan->furthest)
            scan->furthest = scan->last - time;
        if (time < scan->earliest)
            scan->earliest = time;
    } else if (time > scan->latest) {
        scan->latest = time;
    }
    scan->last = time;
}

uint64_t pse_recorder_scan_events(const pse_event *events, uint64_t room, uint64_t certain, uint8_t *types,
                                  pse_recorder_scan *scan)
{
    uint64_t i = 0, sure = certain > scan->count ? certain - scan->count : 0;
    for (; i < room; i++) {
        /* The writer may still be at work: its type is what makes a record whole. */
        uint16_t type = __atomic_load_n(&events[i].type, __ATOMIC_ACQUIRE);
        if (type == 0 && i >= sure)
            break;
        types[i] = type < PSE_TYPES ? (uint8_t)type : 0;
        scan->of_type[types[i]]++;
        if (scan->count + i == 0)
            scan->earliest = scan->last = events[i].time;
        count_time(scan, events[i].time);
    }
    scan->count += i;
    return i;
}
