/* The threads of a rank.  A thread that ends leaves its number to one that begins after that. */
#include "regions/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hot.h"

struct trace_thread *pse_trace_all_threads;
void (*pse_trace_thread_ends)(struct trace_thread *thread);
unsigned long long (*pse_trace_thread_began)(void);

TOOL_THREAD_LOCAL struct trace_thread *pse_trace_own_thread;
PSE_TRACE_HOT_DATA struct trace_thread *pse_trace_initial_thread;
PSE_TRACE_HOT_DATA uintptr_t pse_trace_initial_self;
PSE_TRACE_HOT_DATA bool pse_trace_is_alone;
/* The first thread that is heard of, nearly always the only one, and the frames that its stack has at first.
 */
PSE_TRACE_HOT_DATA static struct trace_thread first;
PSE_TRACE_HOT_TABLE static struct trace_frame first_frames[16];
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t ending;

static void thread_ends(void *data)
{
    struct trace_thread *thread = data;
    if (!pse_trace_is_alone && pse_trace_thread_ends)
        pse_trace_thread_ends(thread);
    pthread_mutex_lock(&list);
    thread->is_used = false;
    thread->ended = pse_clock(); /* That of events is for who has its lock. */
    pthread_mutex_unlock(&list);
    pse_trace_own_thread = NULL;
    if (pse_trace_is_initial())
        pse_trace_initial_self = 0;
}

static void make_key(void)
{
    pthread_key_create(&ending, thread_ends);
}

static struct trace_thread *made_thread(void)
{
    if (pse_trace_all_threads)
        return calloc(1, sizeof(struct trace_thread));
    first.frames = first_frames;
    first.room = sizeof first_frames / sizeof *first_frames;
    return &first;
}

/* For a thread that began at that time, 0: it is not known. */
static struct trace_thread *free_thread(uint64_t began)
{
    static uint32_t count = 1;
    struct trace_thread *thread = pse_trace_all_threads;
    while (thread && (thread->is_used || (began && thread->ended > began)))
        thread = thread->next;
    if (!thread && (thread = made_thread()) != NULL) {
        thread->number = count++;
        thread->next = pse_trace_all_threads;
        pse_trace_all_threads = thread;
    }
    if (thread) {
        thread->is_used = true;
        thread->began = began;
    }
    return thread;
}

static struct trace_thread *new_thread(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    const uint64_t began = pse_trace_thread_began ? pse_trace_thread_began() : 0;
    pthread_mutex_lock(&list);
    pse_trace_own_thread = free_thread(began);
    pthread_mutex_unlock(&list);
    if (pse_trace_own_thread)
        pthread_setspecific(ending, pse_trace_own_thread);
    return pse_trace_own_thread;
}

struct trace_thread *pse_trace_look_for_thread(void)
{
    struct trace_thread *thread = pse_trace_own_thread ? pse_trace_own_thread : new_thread();
    return thread == pse_trace_initial_thread || !pse_trace_is_alone ? thread : NULL;
}

void pse_trace_first_thread(bool alone)
{
    pse_trace_is_alone = alone;
    pse_trace_initial_thread = pse_trace_own_thread ? pse_trace_own_thread : new_thread();
    if (pse_trace_initial_thread) {
        pse_trace_initial_thread->number = 0;
        pse_trace_initial_self = pse_tool_self();
    }
}

static struct trace_frame *larger_stack(struct trace_frame *frames, unsigned room, unsigned wanted)
{
    if (frames != first_frames)
        return realloc(frames, wanted * sizeof *frames);
    struct trace_frame *larger = malloc(wanted * sizeof *larger);
    return larger ? memcpy(larger, frames, room * sizeof *frames) : NULL;
}

bool pse_trace_has_room(struct trace_thread *thread)
{
    if (thread->depth < thread->room)
        return true;
    if (thread->depth > thread->room || thread->room == PSE_TRACE_DEEPEST)
        return false;
    const unsigned wanted = thread->room ? 2 * thread->room : 64;
    struct trace_frame *frames = larger_stack(thread->frames, thread->room, wanted);
    if (!frames)
        return false;
    thread->frames = frames;
    thread->room = wanted;
    return true;
}
