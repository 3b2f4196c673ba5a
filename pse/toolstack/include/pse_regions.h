/* Regions of a program that tools see: `#include <pse_regions.h>`; nothing has to be linked.
 *
 *     PSE_REGION_BEGIN("assemble");          void solve(void)
 *     …                                      {
 *     PSE_REGION_END("assemble");                PSE_REGION("solve");    // until the end of the block
 *
 * Where no tool is there, they do nothing: the first one looks whether one is.  Regions nest; the end of a
 * region ends those that were begun in it.  C99 or C++11, GCC or Clang; with a C library older than
 * glibc 2.34 link with -ldl.
 */
#ifndef PSE_REGIONS_H
#define PSE_REGIONS_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pse_region {
    const char *name, *file;
    int line;
};

struct pse_region_functions {
    int is_known; /* whether anybody wants to see regions */
    void (*enter)(const struct pse_region *region);
    void (*leave)(const char *name);
    void (*leave_at)(const struct pse_region *end); /* NULL: the tools are older than this header */
};

__attribute__((unused, no_instrument_function)) static inline void
pse_region_find(struct pse_region_functions *found)
{
    void *program = dlopen(NULL, RTLD_LAZY); /* with all that is preloaded */
    if (program) {
        void *enter = dlsym(program, "pse_region_enter"), *leave = dlsym(program, "pse_region_leave"),
             *leave_at = dlsym(program, "pse_region_leave_at");
        __builtin_memcpy(&found->enter, &enter, sizeof enter);
        __builtin_memcpy(&found->leave, &leave, sizeof leave);
        __builtin_memcpy(&found->leave_at, &leave_at, sizeof leave_at);
        dlclose(program);
    }
    __atomic_store_n(&found->is_known, 1, __ATOMIC_RELEASE);
}

__attribute__((unused, no_instrument_function)) static inline const struct pse_region_functions *
pse_region_functions(void)
{
    static struct pse_region_functions found;
    if (__builtin_expect(!__atomic_load_n(&found.is_known, __ATOMIC_ACQUIRE), 0))
        pse_region_find(&found);
    return &found;
}

/* In line without optimization, too: what calls MPI inside of a region is found below the stack pointer of
 * the function that enters it. */
__attribute__((unused, always_inline, no_instrument_function)) static inline void
pse_region_begin(const struct pse_region *region)
{
    const struct pse_region_functions *functions = pse_region_functions();
    if (functions->enter)
        functions->enter(region);
}

__attribute__((unused, no_instrument_function)) static inline void pse_region_end(const char *name)
{
    const struct pse_region_functions *functions = pse_region_functions();
    if (functions->leave)
        functions->leave(name);
}

__attribute__((unused, no_instrument_function)) static inline void
pse_region_end_at(const struct pse_region *end)
{
    const struct pse_region_functions *functions = pse_region_functions();
    if (functions->leave_at)
        functions->leave_at(end);
    else
        pse_region_end(end->name);
}

__attribute__((unused, always_inline, no_instrument_function)) static inline const char *
pse_region_scope(const struct pse_region *region)
{
    pse_region_begin(region);
    return region->name;
}

__attribute__((unused, no_instrument_function)) static inline void pse_region_end_scope(const char **name)
{
    pse_region_end(*name);
}

#define PSE_REGION_JOIN_(a, b) a##b
#define PSE_REGION_JOIN(a, b) PSE_REGION_JOIN_(a, b)

#define PSE_REGION_BEGIN(region_name)                                                                        \
    do {                                                                                                     \
        static const struct pse_region pse_region_here = {region_name, __FILE__, __LINE__};                  \
        pse_region_begin(&pse_region_here);                                                                  \
    } while (0)
#define PSE_REGION_END(region_name)                                                                          \
    do {                                                                                                     \
        const struct pse_region pse_region_here = {region_name, __FILE__, __LINE__};                         \
        pse_region_end_at(&pse_region_here);                                                                 \
    } while (0)

/* From here to the end of the block, however it is left. */
#define PSE_REGION(region_name)                                                                              \
    static const struct pse_region PSE_REGION_JOIN(pse_region_, __LINE__) = {region_name, __FILE__,          \
                                                                             __LINE__};                      \
    __attribute__((unused, cleanup(pse_region_end_scope))) const char *PSE_REGION_JOIN(                      \
        pse_scope_, __LINE__) = pse_region_scope(&PSE_REGION_JOIN(pse_region_, __LINE__))

#ifdef __cplusplus
}
#endif

/* For tools: the preloaded object exports `struct pse_region_hooks pse_region_hooks`, and calls what is
 * there. What was entered before and not left, by the first thread that entered anything, is listed in it. */
#define PSE_EARLY_REGIONS 64

struct pse_early_region {
    void *function; /* of -finstrument-functions, or */
    const struct pse_region *region;
    const void *stack; /* where a region was entered */
};

struct pse_region_hooks {
    void (*enter)(const struct pse_region *region);
    void (*leave)(const struct pse_region *end); /* of its name; line 0: where it is is not known */
    void (*function_enter)(void *function);
    void (*function_leave)(void *function);
    unsigned early_count; /* some may have found no room in the list */
    struct pse_early_region early[PSE_EARLY_REGIONS];
    unsigned long long (*thread_began)(void); /* the calling one, ns of CLOCK_MONOTONIC; 0: not known */
};

#endif
