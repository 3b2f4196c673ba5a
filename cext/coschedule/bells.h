/* Doorbells of the ranks of one layer: the node's board (cext/channel), for C++, which can't read its
 * atomics. */
#ifndef PSE_COSCHEDULE_BELLS_H
#define PSE_COSCHEDULE_BELLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_board pse_bcs_bells;

int pse_bcs_bells_create(pse_bcs_bells **out, uint32_t ranks);        /* 0 or -errno. */
int pse_bcs_bells_attach(pse_bcs_bells **out, pid_t process, int fd); /* 0 or -errno. */
void pse_bcs_bells_close(pse_bcs_bells *bells);
int pse_bcs_bells_fd(const pse_bcs_bells *bells);

/* This process is `rank` from now on: it may use the cores that it may use now. */
void pse_bcs_bells_enter(pse_bcs_bells *bells, uint32_t rank);
void pse_bcs_bells_leave(pse_bcs_bells *bells, uint32_t rank);

void pse_bcs_bells_ring(pse_bcs_bells *bells, uint32_t rank);
uint32_t pse_bcs_bells_read(pse_bcs_bells *bells, uint32_t rank);
/* Sleep until the bell differs from `seen`, at most `timeout` ns; false after the timeout or a signal. */
bool pse_bcs_bells_wait(pse_bcs_bells *bells, uint32_t rank, uint32_t seen, uint64_t timeout);

#ifdef __cplusplus
}
#endif
#endif
