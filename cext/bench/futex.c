/* The bare hop between two sleeping processes: one shared page, one futex word for each side. */
#define _GNU_SOURCE
#include "floors.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A side that gets no answer for so long takes the other for dead. */
enum { PATIENCE_SECONDS = 10 };

typedef struct side {
    _Alignas(64) _Atomic uint32_t turn; /* How often the other side has handed over. */
    uint64_t sent;                      /* When it did so last. */
} side;

static int pin(int core)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    return sched_setaffinity(0, sizeof only, &only) == 0 ? 0 : -errno;
}

static void linger_for(uint64_t nanoseconds)
{
    uint64_t until = nanoseconds ? pse_clock() + nanoseconds : 0;
    while (nanoseconds && pse_clock() < until)
        continue;
}

static void hand_to(side *other)
{
    other->sent = pse_clock();
    atomic_fetch_add(&other->turn, 1u);
    syscall(SYS_futex, (uint32_t *)&other->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Sleep until the `turn`-th hand-over; gives its time in `*hop`. */
static bool await(side *self, uint32_t turn, double *hop)
{
    struct timespec limit = {.tv_sec = PATIENCE_SECONDS};
    while (atomic_load(&self->turn) != turn)
        if (syscall(SYS_futex, (uint32_t *)&self->turn, FUTEX_WAIT, turn - 1, &limit, NULL, 0) != 0 &&
            errno == ETIMEDOUT)
            return false;
    *hop = (double)(pse_clock() - self->sent);
    return true;
}

/* The child's side.  It dies with its parent, and leaves nothing but the times in the shared page. */
static void answer(side *sides, int core, uint64_t linger, size_t rounds, double *hops)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pin(core) != 0)
        _exit(1);
    for (size_t round = 0; round < rounds; round++) {
        if (!await(&sides[1], (uint32_t)round + 1, &hops[2 * round]))
            _exit(1);
        linger_for(linger);
        hand_to(&sides[0]);
    }
    _exit(0);
}

static int play(side *sides, uint64_t linger, size_t rounds, double *hops)
{
    for (size_t round = 0; round < rounds; round++) {
        linger_for(linger);
        hand_to(&sides[1]);
        if (!await(&sides[0], (uint32_t)round + 1, &hops[2 * round + 1]))
            return -ETIMEDOUT;
    }
    return 0;
}

static int play_with_child(side *sides, int here, int there, uint64_t linger, size_t rounds, double *hops)
{
    pid_t child = fork();
    if (child == 0)
        answer(sides, there, linger, rounds, hops);
    if (child < 0)
        return -errno;
    int code = pin(here);
    if (code == 0)
        code = play(sides, linger, rounds, hops);
    if (code != 0)
        kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    return code;
}

int pse_bench_floor_futex(int here, int there, uint64_t linger, size_t count, double *hops)
{
    size_t rounds = (count + 1) / 2, bytes = 2 * sizeof(side) + 2 * rounds * sizeof(double);
    cpu_set_t before;
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        return -errno;
    side *sides = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sides == MAP_FAILED)
        return -errno;
    double *shared = (double *)(sides + 2);
    int code = play_with_child(sides, here, there, linger, rounds, shared);
    sched_setaffinity(0, sizeof before, &before);
    for (size_t hop = 0; code == 0 && hop < count; hop++)
        hops[hop] = shared[hop];
    munmap(sides, bytes);
    return code;
}
