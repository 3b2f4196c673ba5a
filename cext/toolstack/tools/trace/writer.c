/* The state of the file that a rank writes. */
#include "writer.h"

pse_recorder *pse_trace_recorder;
bool pse_trace_threads;
pthread_mutex_t pse_trace_mutex = PTHREAD_MUTEX_INITIALIZER;

uint64_t pse_trace_in_order(uint64_t time)
{
    static uint64_t latest;
    return latest = time < latest ? latest : time;
}
