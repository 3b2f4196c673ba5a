/* Two threads of one core wait for what never comes.  Looks take longer when the other one has run in
 * between, as cold caches make them.  Prints the seconds of processor time of a wait of 0.6 s. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "backoff.h"
#include "clock.h"

enum { WARM = 200, COLD = 2000, WAIT = 600000000 };

static atomic_int last;

static void look(int own)
{
    const uint64_t until = pse_clock() + (atomic_exchange(&last, own) == own ? WARM : COLD);
    while (pse_clock() < until)
        ;
}

static void *wait(void *own)
{
    pse_backoff backoff = {.patient = true, .cores = PSE_BACKOFF_SHARED_CORES};
    for (const uint64_t end = pse_clock() + WAIT; pse_clock() < end;) {
        look(*(int *)own);
        pse_backoff_pause(&backoff);
    }
    return NULL;
}

int main(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_t threads[2];
    int own[] = {1, 2};
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, wait, &own[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    printf("%f\n", (double)used.tv_sec + 1e-9 * (double)used.tv_nsec);
    return 0;
}
