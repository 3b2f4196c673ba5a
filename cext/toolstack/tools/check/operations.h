/* Messages as `check` follows them, from start to end.
 *
 * A receive is only completed when its message's notice has been compared: after that MPI may end the job for
 * its own reasons.  A send is only complete when its receive is known, since MPI may make it wait for that.
 */
#ifndef PSE_CHECK_OPERATIONS_H
#define PSE_CHECK_OPERATIONS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "communicators.h"
#include "handle_table.h"
#include "matching.h"

enum { SENDS = 1, RECEIVES = 2 };
enum send_mode { STANDARD, SYNCHRONOUS, BUFFERED, READY };

/* The memory of a message.  Only memory without gaps is compared. */
struct check_buffer {
    uintptr_t begin;
    size_t bytes; /* 0: not compared */
    uint64_t hash;
};

struct check_operation {
    struct pse_handle_node node;
    struct check_operation *next_sent;
    int kind;
    bool persistent, active, shared, cancelled, matched;
    enum send_mode mode;
    struct check_communicator *comm;
    int to, tag, source, receive_tag;
    uint64_t sequence;
    struct type_signature sent;
    struct type_signature buffer,
        item;                       /* of the receive: the program may free the datatype before it starts */
    struct check_buffer from, into; /* the memory that is sent, and received into */
    struct check_receive *receive;
    struct coming_communicator *coming; /* MPI_Comm_idup */
    bool told;                          /* complete, as MPI has said of a persistent one */
    bool failed;                        /* complete with an error, as MPI has said */
    MPI_Status status;
    char routine[40], where[PSE_CALL_SITE_TEXT];
};

/* Until when the match of a receive is waited for. */
struct match_deadline {
    struct check_receive *receive;
    uint64_t until;
};

/* What is waited for. */
struct request_wait {
    struct check_operation **operations; /* NULL: what is known of the handles, looked up each time */
    const MPI_Request *handles;
    int count;
};

#pragma GCC visibility push(hidden)

extern struct pse_handle_table pse_check_requests; /* of struct check_operation */

struct check_operation *pse_check_request_of(MPI_Request handle);
void pse_check_init_operation(struct check_operation *made, MPI_Comm comm, const char *routine);
void pse_check_set_send(struct check_operation *made, enum send_mode mode, const void *buffer,
                        MPI_Count count, MPI_Datatype datatype, int to, int tag);
void pse_check_set_receive(struct check_operation *made, const void *buffer, MPI_Count count,
                           MPI_Datatype datatype, int source, int tag);
void pse_check_start(struct check_operation *made);
void pse_check_send_matched(uint64_t sequence);
/* Ends.  A receive whose message isn't known can't be followed, nor can what comes after it. */
void pse_check_end(struct check_operation *done);
bool pse_check_is_matched_or_late(void *data);
/* MPI has completed it: its notice is here, or will be soon. */
void pse_check_settle(struct check_operation *done, const MPI_Status *status);
/* The program has given this communicator a handler of errors. */
void pse_check_handler_set(MPI_Comm comm);
/* Ask without ending the job: what MPI says of a message that is too long is for the program's own call to
 * hear.  MPICH makes a persistent request inactive when it is asked, and forgets an error that it has told a
 * hundred times, so the status is kept. */
bool pse_check_is_complete(struct check_operation *made, MPI_Request handle, MPI_Status *status);
/* Receives from anybody that are complete: their messages' senders may be waiting to hear of it. */
void pse_check_resolve_waiting_receives(void);
bool pse_check_all_ready(void *data);
/* One that can complete, or nothing to wait for. */
bool pse_check_any_ready(void *data);
void pse_check_describe(const struct check_operation *made, char *text, size_t room);

#pragma GCC visibility pop

#endif
