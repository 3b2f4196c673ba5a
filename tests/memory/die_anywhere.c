/* Kill a rank at one instruction of an operation on the arena after the other, and see whether the next rank
 * finds the arena whole.
 *
 * usage: die_anywhere OPERATION STRIDE
 *
 * For n = 0, STRIDE, 2·STRIDE … a child is stepped n instructions into the operation, and killed.  The parent
 * then needs the lock, checks every invariant, and goes on allocating.  It ends when a child gets through,
 * and prints how many children died and how often the lock had to be taken over.  Exit code 0 if the arena
 * was whole each time, 77 if this machine doesn't allow ptrace.
 */
#include "arena.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KIB = 1 << 10, HELD = 8, SKIP = 77, MOST_STEPS = 2000000, LARGE = 700 * KIB, SMALL = 100 };

static pse_arena *arena;
static pse_handle held[HELD];

static void must(int failed, const char *what)
{
    if (!failed)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static pse_handle get(uint64_t bytes)
{
    pse_handle block;
    must(pse_arena_allocate(arena, bytes, &block), "the arena has no room");
    return block;
}

/* Leave some free blocks of several sizes, neighbours among them, and some live ones. */
static void prepare(void)
{
    must(pse_arena_create(&arena, 4096 * KIB), "no arena");
    for (int i = 0; i < HELD; i++)
        held[i] = get(i % 2 ? LARGE : SMALL);
    for (int i = 1; i < HELD - 1; i++)
        pse_arena_release(arena, held[i]);
}

static void reuse(void)
{
    get(LARGE);
}

static void release(void)
{
    pse_arena_release(arena, held[0]);
}

static void fresh(void)
{
    get(800 * KIB);
}

static void break_up(void)
{
    get(300 * KIB);
}

/* Larger than any free block and than what is left: the neighbours are merged. */
static void merge(void)
{
    get(1200 * KIB);
}

static void view(void)
{
    pse_handle block;
    must(pse_arena_view(arena, held[0], 10, 20, &block), "no view");
    pse_arena_release(arena, block);
}

static void share(void)
{
    pse_handle block;
    must(pse_arena_allocate_shared(arena, 7, 2, 200, &block), "no shared block");
    must(pse_arena_allocate_shared(arena, 7, 2, 200, &block), "no second part");
}

static const struct {
    const char *name;
    void (*run)(void);
} operations[] = {
    {"reuse", reuse}, {"release", release}, {"fresh", fresh}, {"break_up", break_up},
    {"merge", merge}, {"view", view},       {"share", share},
};

/* Step a child into the operation and kill it; true if it was still at it. */
static bool kill_after(long steps, void (*run)(void))
{
    int status;
    pid_t child = fork();
    must(child < 0, "no fork");
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(SKIP);
        raise(SIGSTOP);
        run();
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
        exit(WEXITSTATUS(status));
    while (steps-- && WIFSTOPPED(status)) {
        must(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0, "no step");
        waitpid(child, &status, 0);
        must(WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP, "the operation was stopped by a signal");
    }
    bool alive = WIFSTOPPED(status);
    if (alive) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    must(!alive && (!WIFEXITED(status) || WEXITSTATUS(status)), "the operation failed");
    return alive;
}

static void go_on(void)
{
    must(!pse_arena_is_valid(arena), "the arena is not valid after a death");
    pse_handle some = get(LARGE), other = get(SMALL);
    memset(pse_arena_data(arena, some), 1, LARGE);
    pse_arena_release(arena, some);
    pse_arena_release(arena, other);
    must(!pse_arena_is_valid(arena), "the arena is not valid after going on");
}

int main(int count, char **words)
{
    void (*run)(void) = NULL;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (count == 3 && !strcmp(words[1], operations[i].name))
            run = operations[i].run;
    must(!run, "no such operation");
    long steps = 0, stride = atol(words[2]), deaths = 0;
    uint64_t recoveries = 0;
    for (bool dies = true; dies; steps += stride) {
        must(steps > MOST_STEPS, "the operation never ends");
        prepare();
        dies = kill_after(steps, run);
        deaths += dies;
        go_on();
        pse_arena_statistics statistics;
        pse_arena_read_statistics(arena, &statistics);
        recoveries += statistics.recoveries;
        pse_arena_detach(arena);
    }
    printf("%ld %llu\n", deaths, (unsigned long long)recoveries);
    return 0;
}
