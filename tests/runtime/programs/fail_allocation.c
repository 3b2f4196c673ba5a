/* Preloaded: an allocation that is asked for by code in a given range of addresses fails, the n-th from when
 * that is said. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static uintptr_t first, end;
static _Atomic int64_t left = INT64_MAX;

void fail_watch(uintptr_t from, uintptr_t to)
{
    first = from;
    end = to;
}

/* The n-th allocation from now on fails; 0: none does. */
void fail_at(int64_t n)
{
    atomic_store(&left, n > 0 ? n : INT64_MAX);
}

/* How many allocations there were since then. */
int64_t fail_count(void)
{
    return INT64_MAX - atomic_load(&left);
}

static int fails(void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    return at >= first && at < end && atomic_fetch_sub(&left, 1) == 1;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
