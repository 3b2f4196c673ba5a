/* Collective operations of a trace; blocking ones have request 0.
 *
 * The lock is held and the recorder is there whenever these functions are called, but for
 * `pse_trace_collective_begins` where nothing is recorded.
 */
#ifndef PSE_TRACE_COLLECTIVES_H
#define PSE_TRACE_COLLECTIVES_H

#include "communicators.h"
#include "requests.h"

void pse_trace_collective_begins(uint16_t operation, int root, MPI_Comm comm);
void pse_trace_collective_ends(uint16_t operation, const struct trace_communicator *moving,
                               uint64_t sent_bytes, uint64_t bytes);
struct trace_request *pse_trace_collective_made(uint16_t operation, int root, MPI_Comm comm,
                                                uint64_t sent_bytes, uint64_t bytes, MPI_Request handle);
void pse_trace_collective_starts(uint16_t operation, int root, MPI_Comm comm, uint64_t sent_bytes,
                                 uint64_t bytes, MPI_Request handle, uint64_t time);
/* MPI_Comm_idup: see communicators.h. */
void pse_trace_idup_starts(MPI_Comm *newcomm, MPI_Comm comm, uint64_t time, const MPI_Request *handle);

/* Operations on windows and files, by the ranks of the communicators with which these were made. */
extern struct pse_handle_table pse_trace_windows, pse_trace_files;
void pse_trace_shared_made(struct pse_handle_table *table, uintptr_t handle, MPI_Comm comm);
void pse_trace_shared_begins(uint16_t operation, const struct pse_handle_table *table, uintptr_t handle);
void pse_trace_shared_ends(uint16_t operation, const struct pse_handle_table *table, uintptr_t handle);
void pse_trace_shared_freed(uint16_t operation, struct pse_handle_table *table, uintptr_t handle);

#endif
