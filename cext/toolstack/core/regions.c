/* Regions of programs on their way to a tool: what pse_regions.h and -finstrument-functions call, waits for
 * the end of a thread, and when threads begin. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "pse_regions.h"
#include "visibility.h"

static unsigned long long thread_began(void);

PSE_EXPORT struct pse_region_hooks pse_region_hooks = {.thread_began = thread_began};

PSE_EXPORT void pse_region_enter(const struct pse_region *region);
PSE_EXPORT void pse_region_leave(const char *name);
PSE_EXPORT void pse_region_leave_at(const struct pse_region *end);
PSE_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                              void *argument);
PSE_EXPORT int pthread_join(pthread_t thread, void **result);
PSE_EXPORT void __cyg_profile_func_enter(void *function, void *site);
PSE_EXPORT void __cyg_profile_func_exit(void *function, void *site);

static pthread_t first; /* the thread whose regions are kept until a tool asks */

static bool is_first(void)
{
    return pse_region_hooks.early_count && pthread_equal(first, pthread_self());
}

static void keep(void *function, const struct pse_region *region, const void *stack)
{
    if (!pse_region_hooks.early_count)
        first = pthread_self();
    else if (!is_first())
        return;
    if (pse_region_hooks.early_count < PSE_EARLY_REGIONS)
        pse_region_hooks.early[pse_region_hooks.early_count] =
            (struct pse_early_region){function, region, stack};
    pse_region_hooks.early_count++;
}

static void drop(void)
{
    if (is_first())
        pse_region_hooks.early_count--;
}

void pse_region_enter(const struct pse_region *region)
{
    if (pse_region_hooks.enter)
        pse_region_hooks.enter(region);
    else
        keep(NULL, region, __builtin_frame_address(0));
}

void pse_region_leave_at(const struct pse_region *end)
{
    if (pse_region_hooks.leave)
        pse_region_hooks.leave(end);
    else
        drop();
}

void pse_region_leave(const char *name)
{
    pse_region_leave_at(&(struct pse_region){name, "", 0});
}

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    if (pse_region_hooks.function_enter)
        pse_region_hooks.function_enter(function);
    else
        keep(function, NULL, NULL);
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    if (pse_region_hooks.function_leave)
        pse_region_hooks.function_leave(function);
    else
        drop();
}

/* The C library's own function, looked for once. */
static void *original(void **known, const char *name)
{
    void *found = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!found)
        __atomic_store_n(known, found = dlsym(RTLD_NEXT, name), __ATOMIC_RELAXED);
    return found;
}

/* What a thread is to do. */
struct task {
    void *(*function)(void *);
    void *argument;
};

static __thread unsigned long long began;

static unsigned long long thread_began(void)
{
    return began;
}

static void *begin_thread(void *given)
{
    const struct task task = *(struct task *)given;
    struct timespec now;
    free(given);
    clock_gettime(CLOCK_MONOTONIC, &now);
    began = (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
    return task.function(task.argument);
}

/* Threads know when they began while a tool looks. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                   void *argument)
{
    static void *known;
    int (*const create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        original(&known, "pthread_create");
    struct task *task = pse_region_hooks.enter ? malloc(sizeof *task) : NULL;
    if (!task)
        return create(thread, attributes, function, argument);
    *task = (struct task){function, argument};
    const int failed = create(thread, attributes, begin_thread, task);
    if (failed)
        free(task);
    return failed;
}

/* A region while a tool looks; the C library's own function else. */
int pthread_join(pthread_t thread, void **result)
{
    static const struct pse_region here = {"pthread_join", "", 0};
    static void *known;
    int (*const join)(pthread_t, void **) = original(&known, "pthread_join");
    void (*const enter)(const struct pse_region *) = pse_region_hooks.enter;
    if (enter)
        enter(&here);
    const int failed = join(thread, result);
    if (enter)
        pse_region_hooks.leave(&here);
    return failed;
}
