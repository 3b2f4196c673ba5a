/* Packed copies of messages. */
#include "packed_copy.h"

#include <stdlib.h>

void pse_tool_set_null_status(int source, MPI_Comm comm, MPI_Status *status)
{
    if (source == MPI_PROC_NULL && status != MPI_STATUS_IGNORE)
        PMPI_Recv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, status);
}

/* Pack data at absolute addresses.  MPICH 4.0 refuses MPI_BOTTOM here, so the addresses are made relative to
 * one that isn't null: that of `bytes`. */
static int pack_absolute(pse_packed_count count, MPI_Datatype type, void *copy, pse_packed_count room,
                         pse_packed_count *bytes, MPI_Comm comm)
{
    MPI_Datatype relative;
    MPI_Aint back;
    PMPI_Get_address(bytes, &back);
    back = -back;
    int error = PMPI_Type_create_hindexed_block(1, 1, &back, type, &relative);
    if (error != MPI_SUCCESS)
        return error;
    PMPI_Type_commit(&relative);
    error = PSE_PACKED_FORM(PMPI_Pack)(bytes, count, relative, copy, room, bytes, comm);
    PMPI_Type_free(&relative);
    return error;
}

static int pack(const void *buffer, pse_packed_count count, MPI_Datatype type, void *copy,
                pse_packed_count room, pse_packed_count *bytes, MPI_Comm comm)
{
    if (buffer == MPI_BOTTOM)
        return pack_absolute(count, type, copy, room, bytes, comm);
    return PSE_PACKED_FORM(PMPI_Pack)(buffer, count, type, copy, room, bytes, comm);
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
        *error = copy ? pack(buffer, (pse_packed_count)count, type, copy, room, bytes, comm) : MPI_ERR_NO_MEM;
    }
    if (*error == MPI_SUCCESS)
        return copy;
    free(copy);
    return NULL;
}
