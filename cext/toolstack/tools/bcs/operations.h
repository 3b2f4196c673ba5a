/* Operations of the program: messages and collective operations, and the requests that stand for them. */
#ifndef PSE_BCS_OPERATIONS_H
#define PSE_BCS_OPERATIONS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "c_engine.h"
#include "communicators.h"
#include "handle_table.h"
#include "places.h"

enum pse_bcs_mode { PSE_BCS_STANDARD, PSE_BCS_SYNCHRONOUS, PSE_BCS_BUFFERED };

/* One message of an operation. */
struct pse_bcs_part {
    uint32_t descriptor;
    bool receives;
    int expected; /* tag of a collective operation's message, and its size */
    size_t bytes;
    void *packed;              /* what is sent or received, where it is not the program's own memory */
    struct pse_bcs_place into; /* of a receive by way of `packed` */
};

/* What is to be combined when all parts have come. */
struct pse_bcs_reduction {
    char *memory, *first; /* first: where MPI has the first element of the first contribution */
    MPI_Aint stride;
    int contributions;
    MPI_Op op;
    struct pse_bcs_place result;
};

/* A message that is sent or received again and again. */
struct pse_bcs_persistent {
    bool receives, active;
    enum pse_bcs_mode mode;
    struct pse_bcs_place place;
    int peer, tag;
};

struct pse_bcs_operation {
    struct pse_handle_node node;
    MPI_Request handle;
    struct pse_bcs_comm *comm;
    uint32_t label;
    int tag; /* of a collective operation's messages */
    bool blocking;
    int count, room;
    struct pse_bcs_part *parts, few[2];
    struct pse_bcs_reduction reduction;
    bool has_envelope, truncated, cancelled; /* has_envelope: source, tag, bytes are known */
    int source, received_tag;
    uint64_t bytes;
    struct pse_bcs_persistent *persistent;
    struct pse_bcs_operation *next; /* of those that nobody waits for */
};

/* `rank` and `tag` as MPI has them. */
void pse_bcs_begin(struct pse_bcs_operation *operation, struct pse_bcs_comm *comm, bool blocking);
void pse_bcs_begin_collective(struct pse_bcs_operation *operation, struct pse_bcs_comm *comm, uint32_t label,
                              int root, bool blocking);
void pse_bcs_add_send(struct pse_bcs_operation *operation, struct pse_bcs_place from, int rank, int tag,
                      enum pse_bcs_mode mode);
void pse_bcs_add_receive(struct pse_bcs_operation *operation, struct pse_bcs_place into, int rank, int tag);

/* All its messages are complete: unpack and combine them; gives MPI's error, but doesn't raise it. */
int pse_bcs_finish(struct pse_bcs_operation *operation);
void pse_bcs_tell_status(const struct pse_bcs_operation *operation, MPI_Status *status);
/* Give back what it has, but not its own memory. */
void pse_bcs_clear(struct pse_bcs_operation *operation);
/* Wait for an operation and end it; gives MPI's error. */
int pse_bcs_run(struct pse_bcs_operation *operation, MPI_Status *status);
/* A request for an operation in memory that was allocated. */
void pse_bcs_start(struct pse_bcs_operation *operation, MPI_Request *request);
struct pse_bcs_operation *pse_bcs_allocate(void);

struct pse_bcs_operation *pse_bcs_operation_of(MPI_Request request);
bool pse_bcs_is_active(const struct pse_bcs_operation *operation);
/* Whether all its parts are complete, without waiting. */
bool pse_bcs_is_done(const struct pse_bcs_operation *operation);
/* Wait for all, or say whether all are complete. */
bool pse_bcs_wait(struct pse_bcs_operation *const *operations, size_t count, enum pse_bcs_wait mode);
/* Wait for one and give its place. */
size_t pse_bcs_wait_for_one(struct pse_bcs_operation *const *operations, size_t count);
/* What MPI_Wait does when the operation is complete; gives MPI's error, but doesn't raise it. */
int pse_bcs_complete(struct pse_bcs_operation *operation, MPI_Request *request, MPI_Status *status);
/* The status that it would have, if it is complete. */
void pse_bcs_peek(const struct pse_bcs_operation *operation, MPI_Status *status);
/* Take it back, if it is a receive that has no message yet. */
void pse_bcs_cancel(struct pse_bcs_operation *operation);
/* The request is no longer the program's. */
void pse_bcs_abandon(struct pse_bcs_operation *operation);
/* End what nobody waits for and is complete; `all`: wait for the rest. */
void pse_bcs_end_abandoned(bool all);
void pse_bcs_start_again(struct pse_bcs_operation *operation);

MPI_Request pse_bcs_take_handle(void);
void pse_bcs_give_handle(MPI_Request handle);
void pse_bcs_free_handles(void);

void pse_bcs_set_status(MPI_Status *status, int source, int tag, uint64_t bytes, bool cancelled);
void pse_bcs_set_empty_status(MPI_Status *status);
/* Raise an error by the communicator's handler; gives it. */
int pse_bcs_raise(const struct pse_bcs_comm *comm, int error);

#endif
