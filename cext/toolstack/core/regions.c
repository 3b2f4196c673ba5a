/* Regions of programs on their way to a tool: what pse_regions.h and -finstrument-functions call, and waits
 * for the end of a thread. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "pse_regions.h"
#include "visibility.h"

PSE_EXPORT struct pse_region_hooks pse_region_hooks;

PSE_EXPORT void pse_region_enter(const struct pse_region *region);
PSE_EXPORT void pse_region_leave(const char *name);
PSE_EXPORT void pse_region_leave_at(const struct pse_region *end);
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

/* A region while a tool looks; the C library's own function else. */
int pthread_join(pthread_t thread, void **result)
{
    static const struct pse_region here = {"pthread_join", "", 0};
    static int (*join)(pthread_t, void **);
    if (!__atomic_load_n(&join, __ATOMIC_RELAXED)) {
        void *found = dlsym(RTLD_NEXT, "pthread_join");
        __atomic_store_n((void **)&join, found, __ATOMIC_RELAXED);
    }
    void (*const enter)(const struct pse_region *) = pse_region_hooks.enter;
    if (enter)
        enter(&here);
    const int failed = join(thread, result);
    if (enter)
        pse_region_hooks.leave(&here);
    return failed;
}
