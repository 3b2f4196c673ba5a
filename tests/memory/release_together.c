/* Two ranks give up their references to the same blocks at the same time, round after round: each block is
 * freed once, and nobody is told that it was released too often.  Whoever releases one again is told.
 *
 * usage: release_together ROUNDS
 *
 * Exit code 0 if the arena is empty and whole after each round.
 */
#include "arena.h"

#include <pthread.h>
#include <stdlib.h>

enum { BLOCKS = 500, BYTES = 100 };

static pse_arena *arena;
static pse_handle blocks[BLOCKS];
static pthread_barrier_t gate;
static int rounds;
static _Atomic int misled; /* releases that were told that nobody held the block */

static void release_all(void)
{
    pthread_barrier_wait(&gate);
    for (int i = 0; i < BLOCKS; i++)
        misled += pse_arena_release(arena, blocks[i]) == PSE_ARENA_NOT_HELD;
    pthread_barrier_wait(&gate);
}

static void *other(void *nothing)
{
    for (int round = 0; round < rounds; round++)
        release_all();
    return nothing;
}

static int make_all(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (pse_arena_allocate(arena, BYTES, &blocks[i]) != 0)
            return 1;
        pse_arena_retain(arena, blocks[i], 1);
    }
    return 0;
}

int main(int count, char **words)
{
    pthread_t thread;
    pse_arena_statistics statistics;
    rounds = count > 1 ? atoi(words[1]) : 1;
    if (pse_arena_create(&arena, 1 << 20) != 0 || pthread_barrier_init(&gate, NULL, 2) != 0 ||
        pthread_create(&thread, NULL, other, NULL) != 0)
        return 1;
    for (int round = 0; round < rounds; round++) {
        if (make_all() != 0)
            return 1;
        release_all();
        pse_arena_read_statistics(arena, &statistics);
        if (misled != 0 || statistics.live_blocks != 0 || !pse_arena_is_valid(arena))
            return 1;
        if (pse_arena_release(arena, blocks[0]) != PSE_ARENA_NOT_HELD || !pse_arena_is_valid(arena))
            return 1;
    }
    return pthread_join(thread, NULL);
}
