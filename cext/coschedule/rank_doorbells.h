/* Doorbells of the ranks of one layer: the node's board (cext/channel), for C++, which can't read its
 * atomics. */
#ifndef PSE_COSCHEDULE_RANK_DOORBELLS_H
#define PSE_COSCHEDULE_RANK_DOORBELLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_board pse_bcs_doorbells;

int pse_bcs_doorbells_create(pse_bcs_doorbells **out, uint32_t ranks);        /* 0 or -errno. */
int pse_bcs_doorbells_attach(pse_bcs_doorbells **out, pid_t process, int fd); /* 0 or -errno. */
void pse_bcs_doorbells_close(pse_bcs_doorbells *bells);
int pse_bcs_doorbells_fd(const pse_bcs_doorbells *bells);

/* This process is `rank` from now on: it may use the cores that it may use now. */
void pse_bcs_doorbells_enter(pse_bcs_doorbells *bells, uint32_t rank);
void pse_bcs_doorbells_leave(pse_bcs_doorbells *bells, uint32_t rank);

void pse_bcs_doorbells_ring(pse_bcs_doorbells *bells, uint32_t rank);
uint32_t pse_bcs_doorbells_read(pse_bcs_doorbells *bells, uint32_t rank);
/* Sleep until the bell differs from `seen`, at most `timeout` ns, after looking for it for `awake` ns on a
 * core that is free; false after the timeout or a signal. */
bool pse_bcs_doorbells_wait(pse_bcs_doorbells *bells, uint32_t rank, uint32_t seen, uint64_t timeout,
                            uint64_t awake);
/* Whether the rank, one that has not left, was on a core when that was last noted. */
bool pse_bcs_doorbells_is_on(const pse_bcs_doorbells *bells, uint32_t rank, uint32_t core);
void pse_bcs_doorbells_note_core(pse_bcs_doorbells *bells, uint32_t rank);

#ifdef __cplusplus
}
#endif
#endif
