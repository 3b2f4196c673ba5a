/* Making, finding and leaving an arena. */
#define _GNU_SOURCE
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALLEST (UINT64_C(4) * PSE_GRANULE)
#define LARGEST (UINT64_C(1) << 45) /* Two zones of this size fit into the address space of every kernel. */

static const uint64_t control_bytes =
    (sizeof(pse_arena_control) + PSE_GRANULE - 1) / PSE_GRANULE * PSE_GRANULE;

/* Map the file where huge pages can be: at a multiple of their size, in the middle of a reserved range. */
static void *map_aligned(int fd, uint64_t bytes)
{
    char *hole = mmap(NULL, bytes + PSE_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (hole == MAP_FAILED)
        return MAP_FAILED;
    uint64_t before = pse_arena_round_up((uintptr_t)hole, PSE_HUGE) - (uintptr_t)hole;
    if (before > 0)
        munmap(hole, before);
    munmap(hole + before + bytes, PSE_HUGE - before);
    void *address =
        mmap(hole + before, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    if (address == MAP_FAILED)
        munmap(hole + before, bytes);
    return address;
}

/* A process-local handle on the file; it owns the descriptor from here on, also on error. */
static int map_file(pse_arena **out, int fd, uint64_t bytes)
{
    pse_arena *arena = malloc(sizeof *arena);
    void *address = map_aligned(fd, bytes);
    if (!arena || address == MAP_FAILED) {
        int cause = errno;
        free(arena);
        close(fd);
        errno = cause;
        return PSE_ARENA_SYSTEM;
    }
    *arena = (pse_arena){.control = address, .fd = fd};
    *out = arena;
    return 0;
}

static void make_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/* The large zone's first header ends on a page boundary; its blocks being whole pages, so do all that follow.
 */
static void make_zones(pse_arena_control *control)
{
    pse_arena_zone *small = &control->zones[PSE_ZONE_SMALL], *large = &control->zones[PSE_ZONE_LARGE];
    small->begin = control_bytes;
    small->committed = control_bytes;
    large->committed = pse_arena_round_up(control_bytes + control->capacity, PSE_HUGE);
    large->begin = large->committed + PSE_PAGE - PSE_HEADER;
    for (int i = 0; i < PSE_ZONE_COUNT; i++)
        control->zones[i].top = control->zones[i].high = control->zones[i].begin;
}

/* The file is all zeros; the magic comes last, for an early attacher's sake. */
static void make_control(pse_arena_control *control, uint64_t capacity, uint64_t file_bytes)
{
    control->capacity = capacity;
    control->file_bytes = file_bytes;
    make_mutex(&control->lock);
    make_mutex(&control->growth);
    make_zones(control);
    pse_arena_publish(&control->magic, PSE_CONTROL_MAGIC);
}

static int fail(int fd)
{
    int cause = errno;
    close(fd);
    errno = cause;
    return PSE_ARENA_SYSTEM;
}

int pse_arena_create(pse_arena **out, uint64_t capacity)
{
    *out = NULL;
    if (capacity < SMALLEST || capacity > LARGEST) {
        errno = EINVAL;
        return PSE_ARENA_SYSTEM;
    }
    capacity = pse_arena_round_up(capacity, PSE_GRANULE);
    uint64_t bytes = control_bytes + 2 * capacity + PSE_HUGE;
    int fd = memfd_create("pse-arena", MFD_CLOEXEC);
    if (fd < 0)
        return PSE_ARENA_SYSTEM;
    if (ftruncate(fd, (off_t)bytes) || fallocate(fd, 0, 0, (off_t)control_bytes))
        return fail(fd);
    int code = map_file(out, fd, bytes);
    if (code)
        return code;
    make_control((*out)->control, capacity, bytes);
    (*out)->prefaulted = (*out)->control->zones[PSE_ZONE_LARGE].begin;
    return 0;
}

/* Is this file an arena?  Asked before it is mapped: nothing of a foreign file is trusted. */
static bool is_arena(int fd)
{
    struct stat status;
    pse_arena_control head;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head && head.magic == PSE_CONTROL_MAGIC &&
           head.file_bytes == (uint64_t)status.st_size;
}

int pse_arena_attach(pse_arena **out, pid_t pid, int fd)
{
    char name[64];
    *out = NULL;
    snprintf(name, sizeof name, "/proc/%ld/fd/%d", (long)pid, fd);
    int own = open(name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (own < 0)
        return PSE_ARENA_SYSTEM;
    if (!is_arena(own)) {
        close(own);
        return PSE_ARENA_FOREIGN;
    }
    struct stat status;
    fstat(own, &status);
    int code = map_file(out, own, (uint64_t)status.st_size);
    if (!code)
        (*out)->prefaulted = (*out)->control->zones[PSE_ZONE_LARGE].begin;
    return code;
}

int pse_arena_fd(const pse_arena *arena)
{
    return arena->fd;
}

void pse_arena_detach(pse_arena *arena)
{
    if (!arena)
        return;
    close(arena->fd);
    munmap(arena->control, arena->control->file_bytes);
    free(arena);
}
