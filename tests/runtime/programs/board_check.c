/* Checks of the board in C, where threads and processes run at full speed: each returns 0, or what went
 * wrong. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board.h"
#include "doorbell.h"
#include "inbox.h"

enum { FINE = 0, OUT_OF_ORDER = 1, DAMAGED = 2, LOST_WAKE_UP = 3, NOT_EMPTY = 4, NO_BOARD = 5 };

static const uint64_t PATIENCE = UINT64_C(60000000000);

typedef struct producer {
    pse_board *board;
    uint32_t number;
    uint64_t messages;
} producer;

static void fill(pse_message *message, uint32_t source, uint64_t sequence)
{
    memset(message, 0, sizeof *message);
    message->source = source;
    message->sequence = sequence;
    message->tph = sequence * 31 + source;
    message->value.integer = (int64_t)(sequence ^ source);
}

static void *produce(void *argument)
{
    producer *p = argument;
    pse_inbox *inbox = pse_board_inbox(p->board, 0);
    pse_message message;
    for (uint64_t i = 1; i <= p->messages; i++) {
        fill(&message, p->number, i);
        while (!pse_channel_inbox_put(inbox, &message))
            sched_yield();
        pse_channel_bell_ring(pse_board_slot(p->board, 0));
    }
    return NULL;
}

/* Take everything, asleep while there is nothing. */
static int consume(pse_board *board, uint32_t producers, uint64_t messages)
{
    uint64_t *next = calloc(producers + 1, sizeof *next);
    pse_inbox *inbox = pse_board_inbox(board, 0);
    uint64_t slept;
    int result = FINE;
    for (uint64_t left = producers * messages; left > 0 && result == FINE;) {
        uint32_t seen = pse_channel_bell_read(pse_board_slot(board, 0));
        pse_message message, expected;
        if (!pse_channel_inbox_take(inbox, &message)) {
            if (!pse_channel_bell_wait(board, 0, seen, PATIENCE, &slept))
                result = LOST_WAKE_UP;
            continue;
        }
        fill(&expected, message.source, message.sequence);
        if (message.source == 0 || message.source > producers ||
            memcmp(&message, &expected, sizeof message) != 0)
            result = DAMAGED;
        else if (message.sequence != ++next[message.source])
            result = OUT_OF_ORDER;
        left--;
    }
    free(next);
    pse_message more;
    return result == FINE && pse_channel_inbox_take(inbox, &more) ? NOT_EMPTY : result;
}

/* Many producers, as threads or as processes, fill one inbox. */
int check_inbox(uint32_t producers, uint64_t messages, int processes)
{
    pse_board *board;
    pthread_t threads[64];
    pid_t children[64];
    producer given[64];
    if (pse_board_create(&board, (pse_board_size){.ranks = producers + 1, .sites = 1}) != 0)
        return NO_BOARD;
    atomic_store(&pse_board_slot(board, 0)->affinity, 1);
    for (uint32_t i = 0; i < producers; i++) {
        given[i] = (producer){.board = board, .number = i + 1, .messages = messages};
        if (!processes) {
            pthread_create(&threads[i], NULL, produce, &given[i]);
        } else if ((children[i] = fork()) == 0) {
            produce(&given[i]);
            _exit(0);
        }
    }
    int result = consume(board, producers, messages);
    /* Only for its own: the process that calls this may have other children. */
    for (uint32_t i = 0; i < producers; i++) {
        if (processes)
            waitpid(children[i], NULL, 0);
        else
            pthread_join(threads[i], NULL);
    }
    pse_board_detach(board);
    return result;
}

typedef struct player {
    pse_board *board;
    uint32_t rank;
    uint64_t rounds;
    _Atomic uint64_t *ball;
    int result;
} player;

static void *play(void *argument)
{
    player *p = argument;
    pse_slot *self = pse_board_slot(p->board, p->rank), *other = pse_board_slot(p->board, 1 - p->rank);
    uint64_t slept;
    pse_channel_bell_note_affinity(self);
    for (uint64_t round = 0; round < p->rounds; round++) {
        for (;;) {
            uint32_t seen = pse_channel_bell_read(self);
            if (atomic_load(p->ball) == 2 * round + p->rank)
                break;
            if (!pse_channel_bell_wait(p->board, p->rank, seen, PATIENCE, &slept)) {
                p->result = LOST_WAKE_UP;
                return NULL;
            }
        }
        atomic_fetch_add(p->ball, 1u);
        pse_channel_bell_ring(other);
    }
    return NULL;
}

/* Two ranks hand a ball to and fro, sleeping while the other has it. */
int check_doorbell(uint64_t rounds, int one_core)
{
    pse_board *board;
    pthread_t thread;
    if (pse_board_create(&board, (pse_board_size){.ranks = 2, .sites = 1, .edges = 1}) != 0)
        return NO_BOARD;
    for (uint32_t rank = 0; rank < 2; rank++)
        atomic_store(&pse_board_slot(board, rank)->state, one_core ? PSE_RANK_RUNNING : PSE_RANK_ABSENT);
    player players[2];
    for (uint32_t rank = 0; rank < 2; rank++)
        players[rank] =
            (player){.board = board, .rank = rank, .rounds = rounds, .ball = pse_board_taken(board, 0, 0)};
    pthread_create(&thread, NULL, play, &players[0]);
    play(&players[1]);
    pthread_join(thread, NULL);
    pse_board_detach(board);
    return players[0].result ? players[0].result : players[1].result;
}
