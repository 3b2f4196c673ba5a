/* The decisions of the recorded run, each followed by the call that it was made in.
 *
 * A receive or probe from any sender becomes one from the recorded sender with the recorded tag; a test that
 * found nothing finds nothing, one that found something waits for it.  A call that isn't the one that was
 * recorded ends the job.
 */
#ifndef PSE_REPLAY_DECISIONS_H
#define PSE_REPLAY_DECISIONS_H

#include <mpi.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

extern bool pse_replay_following; /* from MPI_Init to MPI_Finalize */

/* Where the recorded run was aborted or killed, nothing is decided any more. */
bool pse_replay_active(void);
void pse_replay_direct(unsigned call, int *source, int *tag, MPI_Comm *comm);
int pse_replay_iprobe(int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int pse_replay_improbe(int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status);
int pse_replay_test(MPI_Request *request, int *flag, MPI_Status *status);
int pse_replay_get_status(MPI_Request request, int *flag, MPI_Status *status);
int pse_replay_testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[]);
/* `flag` is NULL for MPI_Waitany. */
int pse_replay_any(unsigned call, int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status);
int pse_replay_some(unsigned call, int n, MPI_Request requests[], int *found, int indices[],
                    MPI_Status statuses[]);
/* Around MPI: read this rank's file, and find out whether all of it was followed. */
void pse_replay_open(int returned);
void pse_replay_close(void);

#pragma GCC visibility pop

#endif
