/* The decisions that MPI leaves open and a rank can't know beforehand: which message a receive from any
 * sender got, which request was complete.  `record` writes them, `replay` follows them.
 *
 * One file for each rank, DIRECTORY/rank-RRRRR.order: the header, then entries in the order of the calls.
 * Numbers are little-endian.  While the program runs the file is mapped and called rank-RRRRR.order.part, so
 * it survives the rank's death; at the end it gets a checksum and its name.
 */
#ifndef PSE_TOOL_DECISION_LOG_H
#define PSE_TOOL_DECISION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calls that may go either way.  A number is never used twice. */
#define PSE_DECISION_CALLS(X)                                                                                \
    X(RECV, 1, "MPI_Recv")                                                                                   \
    X(IRECV, 2, "MPI_Irecv")                                                                                 \
    X(START, 3, "MPI_Start")                                                                                 \
    X(SENDRECV, 4, "MPI_Sendrecv")                                                                           \
    X(SENDRECV_REPLACE, 5, "MPI_Sendrecv_replace")                                                           \
    X(ISENDRECV, 6, "MPI_Isendrecv")                                                                         \
    X(PROBE, 7, "MPI_Probe")                                                                                 \
    X(IPROBE, 8, "MPI_Iprobe")                                                                               \
    X(MPROBE, 9, "MPI_Mprobe")                                                                               \
    X(IMPROBE, 10, "MPI_Improbe")                                                                            \
    X(TEST, 11, "MPI_Test")                                                                                  \
    X(TESTALL, 12, "MPI_Testall")                                                                            \
    X(TESTANY, 13, "MPI_Testany")                                                                            \
    X(TESTSOME, 14, "MPI_Testsome")                                                                          \
    X(WAITANY, 15, "MPI_Waitany")                                                                            \
    X(WAITSOME, 16, "MPI_Waitsome")                                                                          \
    X(GET_STATUS, 17, "MPI_Request_get_status")                                                              \
    X(COMPLETED, 18, "an index of MPI_Waitsome or MPI_Testsome")

enum {
#define X(name, number, routine) DECIDED_##name = number,
    PSE_DECISION_CALLS(X)
#undef X
};

enum { DECIDED_NONE = -1 }; /* source: the receive never got a message; index: no request was complete */

/* One call, or `repeat` equal ones in a row. */
struct pse_decision {
    uint16_t call;
    uint16_t flag;       /* what a test or probe said */
    uint32_t repeat;     /* calls with this outcome, one after the other */
    int32_t source, tag; /* the message that was matched */
    int32_t index;       /* the request that was complete */
    int32_t count;       /* MPI_Waitsome, MPI_Testsome: entries COMPLETED that follow */
    int32_t asked_tag;   /* what the program asked for: it must be the same in a replay */
    uint32_t requests;   /* so many requests were given */
};

struct pse_decision_header {
    char magic[8]; /* PSEORDER */
    uint32_t version, header_size, entry_size;
    uint32_t rank, ranks;
    uint32_t aborted; /* the program ended by MPI_Abort: the order is what came before */
    uint64_t run;     /* the same on all ranks, another for each run */
    uint64_t entries;
    uint64_t checksum; /* of header (this field 0) and entries */
};

enum { PSE_DECISION_VERSION = 1 };

/* A file that is being written. */
struct pse_decision_log {
    struct pse_decision_header *header; /* NULL: none; entries follow */
    size_t bytes;                       /* of the mapping, and of the file */
    int fd;
    char path[4200]; /* with .part */
};

static inline struct pse_decision *pse_decisions_of(const struct pse_decision_log *file)
{
    return (struct pse_decision *)(file->header + 1);
}

const char *pse_decision_call_name(unsigned call);

void pse_decision_path(char *path, size_t room, const char *directory, int rank);

/* Whether there is room for one more. */
bool pse_decision_log_has_room(const struct pse_decision_log *file);

/* Make the file larger; 0 or an errno.  Its blocks are there before they are written to: a full disk is told
 * here, and not by a signal. */
int pse_decision_log_grow(struct pse_decision_log *file, size_t bytes);

/* Begin a rank's file; 0 or an errno. */
int pse_decision_log_open(struct pse_decision_log *file, const char *path, struct pse_decision_header header);

/* End it: its own length, its checksum, its name.  Returns 0 or an errno. */
int pse_decision_log_close(struct pse_decision_log *file);

/* Read and check a rank's file; NULL and *problem if it can't be followed.  The caller frees the entries.
 * What a killed rank has left counts as aborted. */
struct pse_decision *pse_decision_log_read(const char *path, int rank, int ranks,
                                           struct pse_decision_header *header, const char **problem);

#endif
