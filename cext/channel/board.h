/* The node's board: what the ranks of one node know of each other, in one nameless shared memory file.
 *
 * For every rank of the job it has a slot (pid, state, what it runs, its doorbell), its statistics per call
 * site, and its inbox.  For every edge of the program graph it counts, per consumer, how many messages were
 * taken (credits), and for every `inflight` loop, per rank, how many iterations are complete.  Ranks of other
 * nodes have slots too; they stay empty but for the counters that messages mirror.  For whoever watches,
 * every rank shows how long its queues are.
 *
 * The launcher makes the board where it can, else the first rank of the node; others open it through
 * /proc/PID/fd/FD.
 */
#ifndef PSE_BOARD_H
#define PSE_BOARD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi_channel.h"
#include "abi_waiting.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_board pse_board; /* Process-local handle. */

typedef struct pse_board_size {
    uint32_t ranks, sites, edges, loops;
} pse_board_size;

int pse_board_create(pse_board **out, pse_board_size size); /* 0 or -errno. */
int pse_board_attach(pse_board **out, pid_t pid, int fd);   /* 0 or -errno; -EPROTO: not a board. */
void pse_board_detach(pse_board *board);
int pse_board_fd(const pse_board *board);
pse_board_size pse_board_get_size(const pse_board *board);

pse_slot *pse_board_slot(const pse_board *board, uint32_t rank);
pse_site_statistics *pse_board_statistics(const pse_board *board, uint32_t rank, uint32_t site);
_Atomic uint64_t *pse_board_taken(const pse_board *board, uint32_t edge, uint32_t consumer);
/* A consumer of this node, or mirrored here, has taken nothing yet. */
void pse_board_forget_taken(const pse_board *board, uint32_t consumer);
_Atomic uint64_t *pse_board_loop(const pse_board *board, uint32_t loop, uint32_t rank);
struct pse_inbox *pse_board_inbox(const pse_board *board, uint32_t rank);
/* How many arrays wait in each queue of a rank, one number for each edge; only shown, nobody relies on it. */
_Atomic uint32_t *pse_board_queued(const pse_board *board, uint32_t rank);

/* How many ranks of this node wait for space in the arena. */
_Atomic uint32_t *pse_board_space_wanted(const pse_board *board);

/* The first rank (or the launcher) that claims the right to name a culprit gets true. */
int pse_board_claim_report(pse_board *board);

#ifdef __cplusplus
}
#endif
#endif
