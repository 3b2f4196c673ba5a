/* The state of the file that a rank writes. */
#include "writer.h"

#include "regions/threads.h"

pse_recorder *pse_trace_recorder;
bool pse_trace_threads;
struct trace_thread *pse_trace_writer;
_Thread_local volatile bool pse_trace_is_writing;
pthread_mutex_t pse_trace_mutex = PTHREAD_MUTEX_INITIALIZER;

uint64_t pse_trace_in_order(uint64_t time)
{
    static uint64_t latest;
    static uint32_t thread;
    const struct trace_thread *now = pse_trace_writer ? pse_trace_writer : pse_trace_this_thread();
    if (now && now->number != thread) {
        thread = now->number;
        pse_recorder_add_at(pse_trace_recorder, time < latest ? latest : time, PSE_EVENT_THREAD, 0, PSE_NONE,
                            0, thread, 0, 0);
    }
    return latest = time < latest ? latest : time;
}
