/* Modules that do what a module must not do. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

//@ coven module nap(inout f64 a[m, n] @ block(0), in i64 milliseconds)
int nap(double *a, int64_t milliseconds, int64_t m, int64_t n)
{
    (void)a, (void)m, (void)n;
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) /* A stop with checkpoints lets modules go on. */
        ;
    return 0;
}

static int64_t recurse(volatile int64_t depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    return recurse(depth + 1) + room[0];
}

/* Fork processes that end in all ways in which a call of a module can end. */
__attribute__((noinline)) static int fork_in_every_way(void)
{
    for (int way = 0; way < 4; way++) {
        pid_t child = fork();
        if (child == 0 && way == 1)
            exit(0);
        if (child == 0 && way == 2)
            setrlimit(RLIMIT_CORE, &(struct rlimit){0}), abort();
        if (child == 0)
            return way;
        int status = -1;
        waitpid(child, &status, 0);
        printf("a child ended with %d\n", status);
    }
    return 0;
}

//@ coven module misbehave(inout f64 a[m, n] @ block(0), in i64 how, in i64 k, in i64 round)
int misbehave(double *a, int64_t how, int64_t k, int64_t round, int64_t m, int64_t n)
{
    volatile int64_t zero = 0;
    double *volatile nowhere = NULL;
    (void)m, (void)n;
    if (k != round)
        return 0;
    switch (how) {
    case 1:
        return (int)*nowhere; // line of 1
    case 2:
        return (int)((n + 1) / zero);
    case 3:
        abort(); // line of 3
    case 4:
        return (int)recurse(0);
    case 5:
        return 7;
    case 6:
        exit(0); // line of 6
    case 7:
        exit(1);
    case 8:
        _exit(5);
    case 9:
        for (;;)
            a[0] += 1e-9;
    case 10:
        return raise(SIGKILL);
    case 11:
        printf("the module's last words\n");
        return raise(SIGBUS);
    case 12:
        return fork_in_every_way();
    case 13:
        pthread_exit(NULL);
    case 14:
        closefrom(3);
        return 0;
    case 15:
        for (int i = 3; i <= 20; i++)
            close(i);
        return 0;
    default:
        return 0;
    }
}

const char *coven_error(int code)
{
    return code == 7 ? "it was told to fail" : NULL;
}
