/* Datatypes of headers and buffer, and the calls of headers. */
#include "message.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "headers.h"
#include "packed_copy.h"

/* All get on a message that is about to be sent. */
static void fill_headers(const struct piggyback_message *message, unsigned char *bytes)
{
    const struct pse_message_envelope envelope = {PSE_HANDLE(message->comm), message->to, message->tag};
    memset(bytes, 0, message->bytes);
    for (int i = 0; i < pse_piggyback_count; i++)
        if (pse_piggyback_is_wanted(&pse_piggyback_headers[i], message->comm)) {
            pse_piggyback_headers[i].fill(pse_piggyback_headers[i].context, &envelope, bytes);
            bytes += pse_piggyback_headers[i].bytes;
        }
}

void pse_piggyback_read(const struct piggyback_message *message, const MPI_Status *status)
{
    const struct pse_message_envelope envelope = {
        PSE_HANDLE(message->comm), message->from == MPI_ANY_SOURCE ? status->MPI_SOURCE : message->from,
        message->from_tag == MPI_ANY_TAG ? status->MPI_TAG : message->from_tag};
    const unsigned char *bytes = message->in;
    for (int i = 0; i < pse_piggyback_count; i++)
        if (pse_piggyback_is_wanted(&pse_piggyback_headers[i], message->comm)) {
            pse_piggyback_headers[i].read(pse_piggyback_headers[i].context, &envelope, bytes);
            bytes += pse_piggyback_headers[i].bytes;
        }
}

void pse_piggyback_begin(struct piggyback_message *message, MPI_Comm comm)
{
    memset(message, 0, offsetof(struct piggyback_message, out));
    message->comm = comm;
    message->bytes = pse_piggyback_bytes_on(comm);
    message->out_type = message->in_type = MPI_DATATYPE_NULL;
}

void pse_piggyback_free_types(struct piggyback_message *message)
{
    if (message->out_type != MPI_DATATYPE_NULL)
        PMPI_Type_free(&message->out_type);
    if (message->in_type != MPI_DATATYPE_NULL)
        PMPI_Type_free(&message->in_type);
}

void pse_piggyback_free(struct piggyback_message *message)
{
    pse_piggyback_free_types(message);
    free(message->packed);
    free(message);
}

/* The datatype of the headers' bytes and the program's buffer; MPI_DATATYPE_NULL if MPI refuses it. */
static MPI_Datatype joined(unsigned char *bytes, size_t size, const void *buffer, MPI_Count count,
                           MPI_Datatype type)
{
    MPI_Datatype made = MPI_DATATYPE_NULL, parts[] = {MPI_BYTE, type};
    MPI_Aint at[2];
    PMPI_Get_address(bytes, &at[0]);
    PMPI_Get_address(buffer, &at[1]);
    if (count <= INT_MAX) {
        const int lengths[] = {(int)size, (int)count};
        PMPI_Type_create_struct(2, lengths, at, parts, &made);
    }
#if MPI_VERSION >= 4
    else {
        const MPI_Count lengths[] = {(MPI_Count)size, count}, places[] = {at[0], at[1]};
        PMPI_Type_create_struct_c(2, lengths, places, parts, &made);
    }
#endif
    if (made != MPI_DATATYPE_NULL)
        PMPI_Type_commit(&made);
    return made;
}

static bool is_carried(const struct piggyback_message *message, int partner, MPI_Count count,
                       MPI_Datatype type)
{
    return message->bytes && partner != MPI_PROC_NULL && count >= 0 && type != MPI_DATATYPE_NULL;
}

bool pse_piggyback_goes_out(struct piggyback_message *message, const void *buffer, MPI_Count count,
                            MPI_Datatype type, int to, int tag)
{
    if (!is_carried(message, to, count, type))
        return false;
    message->to = to;
    message->tag = tag;
    message->out_type = joined(message->out, message->bytes, buffer, count, type);
    message->sends = message->out_type != MPI_DATATYPE_NULL;
    return message->sends;
}

bool pse_piggyback_comes_in(struct piggyback_message *message, void *buffer, MPI_Count count,
                            MPI_Datatype type, int from, int tag)
{
    if (!is_carried(message, from, count, type))
        return false;
    message->from = from;
    message->from_tag = tag;
    message->in_type = joined(message->in, message->bytes, buffer, count, type);
    message->receives = message->in_type != MPI_DATATYPE_NULL;
    return message->receives;
}

bool pse_piggyback_is_exchanged(struct piggyback_message *message, void *buffer, MPI_Count count,
                                MPI_Datatype type, int to, int tag, int from, int from_tag)
{
    pse_packed_count bytes;
    int error;
    if (is_carried(message, to, count, type) &&
        (message->packed = pse_tool_packed_copy(buffer, count, type, message->comm, &bytes, &error)))
        pse_piggyback_goes_out(message, message->packed, bytes, MPI_PACKED, to, tag);
    pse_piggyback_comes_in(message, buffer, count, type, from, from_tag);
    return message->sends || message->receives;
}

bool pse_piggyback_is_replaced(struct piggyback_message *message, void *buffer, MPI_Count count,
                               MPI_Datatype type, int to, int tag, int from, int from_tag)
{
    if (!is_carried(message, to, count, type) && !is_carried(message, from, count, type))
        return false;
    message->to = to;
    message->tag = tag;
    message->from = from;
    message->from_tag = from_tag;
    message->in_type = joined(message->in, message->bytes, buffer, count, type);
    message->receives = from != MPI_PROC_NULL && message->in_type != MPI_DATATYPE_NULL;
    if (to != MPI_PROC_NULL)
        fill_headers(message, message->in);
    return message->in_type != MPI_DATATYPE_NULL;
}

void pse_piggyback_fill(struct piggyback_message *message)
{
    message->active = true;
    if (message->sends)
        fill_headers(message, message->out);
}
