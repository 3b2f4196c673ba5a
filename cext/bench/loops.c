/* Floors that are one loop each. */
#include "floors.h"

enum { PAGE = 4096 };

typedef int (*empty_function)(void **arguments);

static int do_nothing(void **arguments)
{
    (void)arguments;
    return 0;
}

/* Through a volatile pointer, so that the compiler must make the call. */
double pse_bench_floor_call(size_t count)
{
    empty_function volatile function = do_nothing;
    void *arguments[1] = {NULL};
    int failed = 0;
    uint64_t begin = pse_clock();
    for (size_t call = 0; call < count; call++)
        failed |= function(arguments);
    uint64_t end = pse_clock();
    return failed ? -1.0 : (double)(end - begin) / (double)count;
}

double pse_bench_floor_record(pse_recorder *recorder, size_t count)
{
    uint64_t begin = pse_clock();
    for (size_t event = 0; event < count; event++)
        pse_recorder_add(recorder, PSE_EVENT_MODULE_ENTER, 0, 0, event, 0, 0, 0);
    return (double)(pse_clock() - begin) / (double)count;
}

double pse_bench_floor_touch(char *memory, size_t bytes)
{
    uint64_t begin = pse_clock();
    for (size_t place = 0; place < bytes; place += PAGE)
        *(volatile char *)(memory + place) = 1;
    return (double)(pse_clock() - begin);
}
