#define _GNU_SOURCE
#include "scheduler_hints.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The shortest slice that the kernel grants. */
#define SLICE_NANOSECONDS 100000u

/* The kernel's struct sched_attr in its first form; the C library has none. */
typedef struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} attributes;

int pse_channel_wake_soon(void)
{
    attributes now = {.size = sizeof now};
    if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0)
        return -errno;
    if (now.policy != SCHED_OTHER)
        return 0; /* Whoever chose another policy knows better. */
    now.size = sizeof now;
    now.runtime = SLICE_NANOSECONDS;
    return syscall(SYS_sched_setattr, 0, &now, 0) == 0 ? 0 : -errno;
}

int pse_channel_sleep_exactly(void)
{
    return prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0 ? 0 : -errno;
}
