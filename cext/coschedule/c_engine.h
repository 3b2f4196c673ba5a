/* One rank's end of the layer, for C: what the MPI tool `bcs` (cext/toolstack/tools/bcs) is made of.
 *
 * Ranks are those of the layer.  Only operations of one context match each other, so several communicators
 * share one layer, which so knows when all ranks are blocked, whatever they wait for.
 */
#ifndef PSE_COSCHEDULE_C_ENGINE_H
#define PSE_COSCHEDULE_C_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi_coschedule.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PSE_BCS_ANY (-1)

typedef struct pse_bcs_end pse_bcs_end;

struct pse_bcs_settings {
    uint32_t ranks, table; /* table: buffers of each rank, for what travels with descriptors */
    bool strict, ordered;
    uint64_t slice;        /* ns */
    uint32_t leader;       /* the rank that makes the layer of its node */
    const uint32_t *nodes; /* of each rank */
};

/* Where the others find the shared memory. */
struct pse_bcs_files {
    int64_t process, segment, bells;
};

struct pse_bcs_envelope {
    int32_t peer, tag; /* or PSE_BCS_ANY */
    uint64_t context;
    uint32_t label; /* 0: a message; else what it is part of, as the table of labels names it */
    bool blocking, synchronous;
};

struct pse_bcs_received {
    int32_t source, tag;
    uint64_t bytes;
    bool truncated;
};

enum pse_bcs_wait { PSE_BCS_FOR_ALL, PSE_BCS_FOR_ONE, PSE_BCS_FOR_NONE };

/* The lowest rank of a node makes its layer, the others open it; NULL, with a reason, if that can't be. */
pse_bcs_end *pse_bcs_end_make(const struct pse_bcs_settings *settings, struct pse_bcs_files *files,
                              char *reason, size_t room);
pse_bcs_end *pse_bcs_end_open(const struct pse_bcs_files *files, uint32_t rank, char *reason, size_t room);
/* Where other nodes reach the one whose layer this rank has made: PSE_BCS_ENDPOINT bytes; and reach them,
 * given those of all nodes; false, with a reason: that can't be. */
void pse_bcs_end_endpoint(const pse_bcs_end *end, uint8_t *endpoint);
bool pse_bcs_end_connect(pse_bcs_end *end, const uint8_t *endpoints, size_t nodes, char *reason, size_t room);
/* Whether ranks may read each other's memory: 0 or the error's number; when all have entered. */
int pse_bcs_end_try_reading(pse_bcs_end *end);
/* The shortest slice that this machine keeps, in ns: measured, which takes some slices. */
uint64_t pse_bcs_end_shortest_slice(const pse_bcs_end *end);
void pse_bcs_end_begin(pse_bcs_end *end);
/* Before that, where a trace is written: record what this rank, one of MPI_COMM_WORLD, does in the layer;
 * false, with a reason: it can't be. */
bool pse_bcs_end_trace(pse_bcs_end *end, char *reason, size_t room);
/* Whether slices have become longer, since too many came late; says so in words. */
bool pse_bcs_end_has_slowed(const pse_bcs_end *end, char *text, size_t room);
void pse_bcs_end_close(pse_bcs_end *end); /* When all ranks have come to their end. */

/* Each gives an operation, or PSE_BCS_NONE if the layer has failed. */
uint32_t pse_bcs_end_send(pse_bcs_end *end, const void *data, uint64_t bytes,
                          const struct pse_bcs_envelope *to);
uint32_t pse_bcs_end_receive(pse_bcs_end *end, void *data, uint64_t bytes,
                             const struct pse_bcs_envelope *from);
uint32_t pse_bcs_end_probe(pse_bcs_end *end, const struct pse_bcs_envelope *from);

/* Wait until all operations or one are complete, or say whether all are (FOR_NONE); `*which`: the place of
 * the one.  PSE_BCS_WAIT_INTERRUPTED comes after a while, or after a signal. */
enum pse_bcs_outcome pse_bcs_end_wait(pse_bcs_end *end, const uint32_t *operations, size_t count,
                                      enum pse_bcs_wait mode, size_t *which);
bool pse_bcs_end_is_done(pse_bcs_end *end, uint32_t operation);
struct pse_bcs_received pse_bcs_end_received(pse_bcs_end *end, uint32_t operation);
void pse_bcs_end_release(pse_bcs_end *end, uint32_t operation);
/* Take back a receive that has not been matched; whether it could be. */
bool pse_bcs_end_cancel(pse_bcs_end *end, uint32_t operation);
/* How long a wait takes before it is interrupted, in ns. */
void pse_bcs_end_look_after(pse_bcs_end *end, uint64_t time);

/* Whether somebody steps the layer: then say where in the program a wait begins. */
bool pse_bcs_end_is_observed(const pse_bcs_end *end);
void pse_bcs_end_say_place(pse_bcs_end *end, const char *place);

/* Around what may block elsewhere: the others need not wait until this rank blocks here. */
void pse_bcs_end_go_away(pse_bcs_end *end);
void pse_bcs_end_come_back(pse_bcs_end *end);

/* The monitors, as variables of the environment ask for them: false, with a reason, if one makes no sense. */
bool pse_bcs_check_monitors(char *reason, size_t room);
/* The same for the metrics, when it is known which routines there are. */
bool pse_bcs_end_check_metrics(const pse_bcs_end *end, bool (*is_routine)(const char *name), char *reason,
                               size_t room);
/* Of this process (MMDS): the time, in ns, if it is monitored, else 0; the number of a routine; and that a
 * call of it has ended, which began at `entered`. */
uint64_t pse_bcs_end_enter(pse_bcs_end *end);
uint32_t pse_bcs_end_routine(pse_bcs_end *end, const char *name);
struct pse_bcs_noted {
    uint32_t routine;
    bool blocking;
    uint64_t bytes, entered;
};
void pse_bcs_end_note(pse_bcs_end *end, const struct pse_bcs_noted *call);
/* Write their files, when all ranks have come to their end; false, with a reason: one can't be written. */
bool pse_bcs_end_write_monitors(pse_bcs_end *end, char *reason, size_t room);

/* Whether nobody has said yet why the layer has failed: true for one caller of all ranks. */
bool pse_bcs_end_is_first_to_tell(pse_bcs_end *end);
/* Why it has failed, also in words. */
enum pse_bcs_failure pse_bcs_end_failure(pse_bcs_end *end, const char *const *labels, char *text,
                                         size_t room);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
