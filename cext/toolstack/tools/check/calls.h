/* What the wrappers of MPI's routines call; the lock is held, but for blocking calls, which take it. */
#ifndef PSE_CHECK_CALLS_H
#define PSE_CHECK_CALLS_H

#include <mpi.h>
#include <stdbool.h>

#include "operations.h"
#include "request_snapshot.h"

enum { NO_ROOT = -1, NO_OPERATION = -1 };

/* The program's requests (calls.c) */
struct check_operation *pse_check_enter_request(MPI_Comm comm, MPI_Request handle, const char *routine);
/* MPI_Comm_idup has been called. */
void pse_check_idup_starts(MPI_Comm *newcomm, MPI_Comm comm, MPI_Request handle, const char *routine);
void pse_check_started(MPI_Request handle);
/* The handle may be another thread's already. */
void pse_check_request_done(MPI_Request handle, MPI_Status *status);
/* The first request that MPI takes for inactive, because it has told of its completion already; -1 if there
 * is none. */
int pse_check_first_told(int count, const MPI_Request handles[]);
/* Of a call for all or some requests, which has `returned` with an error maybe. */
void pse_check_all_done(int returned, int count, const struct pse_request_snapshot *snapshot);
void pse_check_some_done(int returned, int count, const int indices[],
                         const struct pse_request_snapshot *snapshot);
void pse_check_request_freed(MPI_Request handle);
void pse_check_request_cancelled(MPI_Request handle);
/* Wait until all, or one, of some requests may be completed. */
void pse_check_wait_for(int count, const MPI_Request handles[], bool (*ready)(void *), const char *routine);
/* Before a test: compare what is complete, before MPI completes it. */
void pse_check_look_at(int count, const MPI_Request handles[]);

/* Blocking calls (calls.c) */
int pse_check_send(enum send_mode mode, const void *buffer, MPI_Count count, MPI_Datatype datatype, int to,
                   int tag, MPI_Comm comm, const char *routine);
int pse_check_receive(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                      MPI_Comm comm, MPI_Status *status, const char *routine);
int pse_check_sendrecv(const void *out, MPI_Count out_count, MPI_Datatype out_type, int to, int tag, void *in,
                       MPI_Count in_count, MPI_Datatype in_type, int source, int receive_tag, MPI_Comm comm,
                       MPI_Status *status, const char *routine);
/* A probed message has its receive from then on; its buffer comes with MPI_Mrecv. */
void pse_check_message_probed(MPI_Message handle, MPI_Comm comm, const MPI_Status *status,
                              const char *routine);
int pse_check_probe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status,
                    const char *routine);
/* MPI_Mrecv: the notice is compared before MPI writes the buffer. */
struct check_receive *pse_check_message_received(MPI_Message handle, MPI_Count count, MPI_Datatype datatype,
                                                 const char *routine);

/* Collective operations (collectives.c) */
/* Reduction operations that are the same number on all ranks; 0: the program's own. */
int pse_check_operation_number(MPI_Op op);
/* Rank 0 of a communicator hears of one; when all are there, they may go. */
void pse_check_take_collective(struct check_communicator *comm, const struct check_notice *notice);
void pse_check_take_go(struct check_communicator *comm, const struct check_notice *notice);
/* `waits`: a blocking operation. */
void pse_check_collective(MPI_Comm handle, const char *routine, int root, int operation,
                          struct type_signature signature, struct byte_flow flow, bool waits);

/* What the program must free or receive before MPI_Finalize (leaks.c) */
void pse_check_window_made(MPI_Win handle, const char *routine);
void pse_check_window_locked(MPI_Win handle, int change);
void pse_check_window_freed(MPI_Win handle);
void pse_check_report_leaks(void);

#endif
