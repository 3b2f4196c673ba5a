/* Packed copies of messages. */
#include "packed_copy.h"

#include <stdlib.h>

void pse_tool_set_null_status(int source, MPI_Comm comm, MPI_Status *status)
{
    if (source == MPI_PROC_NULL && status != MPI_STATUS_IGNORE)
        PMPI_Recv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, status);
}

void *pse_tool_packed_copy(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                           pse_packed_count *bytes, int *error)
{
    pse_packed_count room = 0;
    void *copy = NULL;
    *bytes = 0;
    if ((*error = PSE_PACKED_FORM(PMPI_Pack_size)((pse_packed_count)count, type, comm, &room)) ==
        MPI_SUCCESS) {
        copy = malloc((size_t)room + 1);
        *error =
            copy ? PSE_PACKED_FORM(PMPI_Pack)(buffer, (pse_packed_count)count, type, copy, room, bytes, comm)
                 : MPI_ERR_NO_MEM;
    }
    if (*error == MPI_SUCCESS)
        return copy;
    free(copy);
    return NULL;
}
