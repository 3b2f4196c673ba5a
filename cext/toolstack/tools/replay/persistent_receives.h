/* Persistent receives from any sender: at each start a receive from the recorded sender is posted in their
 * place.
 */
#ifndef PSE_REPLAY_PERSISTENT_RECEIVES_H
#define PSE_REPLAY_PERSISTENT_RECEIVES_H

#include <mpi.h>

void pse_replay_made(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Request handle);
int pse_replay_start(MPI_Request *request);
int pse_replay_start_all(int n, MPI_Request requests[]);
MPI_Request pse_replay_posted(MPI_Request request);
void pse_replay_free(MPI_Request handle);
/* During a call the stand-in is in the request's place. */
MPI_Request pse_replay_swap_in(MPI_Request *request);
void pse_replay_swap_out(MPI_Request *request, MPI_Request given);

#endif
