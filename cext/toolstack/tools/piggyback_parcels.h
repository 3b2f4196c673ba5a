/* A message with its riders: made of two parts, the riders' bytes and the program's buffer.
 *
 * May touch: nothing.
 */
#ifndef PSE_PIGGYBACK_PARCELS_H
#define PSE_PIGGYBACK_PARCELS_H

#include <limits.h>

#include "blocking.h"
#include "handles.h"
#include "piggyback_riders.h"

/* One message, or both of MPI_Sendrecv: what rides with it, and what the communication is made with. */
struct parcel {
    struct handle_node node;
    MPI_Comm comm;
    size_t bytes; /* 0: nothing rides */
    int to, tag, from, from_tag;
    bool sends, receives, persistent, active;
    void *packed;                   /* what leaves from a buffer that the answer comes to */
    MPI_Datatype out_type, in_type; /* MPI_DATATYPE_NULL: none */
    unsigned char out[PSE_PIGGYBACK_MOST], in[PSE_PIGGYBACK_MOST];
};

/* All get on a message that is about to be sent. */
static void get_on(const struct parcel *parcel, unsigned char *bytes)
{
    const struct pse_message message = {PSE_HANDLE(parcel->comm), parcel->to, parcel->tag};
    memset(bytes, 0, parcel->bytes);
    for (int i = 0; i < rider_count; i++)
        if (is_wanted(&riders[i], parcel->comm)) {
            riders[i].leave(riders[i].context, &message, bytes);
            bytes += riders[i].bytes;
        }
}

/* All get off a message that has come.  (MPICH gives MPI_Isendrecv no status.) */
static void get_off(const struct parcel *parcel, const MPI_Status *status)
{
    const struct pse_message message = {PSE_HANDLE(parcel->comm),
                                        parcel->from == MPI_ANY_SOURCE ? status->MPI_SOURCE : parcel->from,
                                        parcel->from_tag == MPI_ANY_TAG ? status->MPI_TAG : parcel->from_tag};
    const unsigned char *bytes = parcel->in;
    for (int i = 0; i < rider_count; i++)
        if (is_wanted(&riders[i], parcel->comm)) {
            riders[i].arrive(riders[i].context, &message, bytes);
            bytes += riders[i].bytes;
        }
}

static void start_parcel(struct parcel *parcel, MPI_Comm comm)
{
    memset(parcel, 0, offsetof(struct parcel, out));
    parcel->comm = comm;
    parcel->bytes = bytes_on(comm);
    parcel->out_type = parcel->in_type = MPI_DATATYPE_NULL;
}

static void free_types(struct parcel *parcel)
{
    if (parcel->out_type != MPI_DATATYPE_NULL)
        PMPI_Type_free(&parcel->out_type);
    if (parcel->in_type != MPI_DATATYPE_NULL)
        PMPI_Type_free(&parcel->in_type);
}

static void free_parcel(struct parcel *parcel)
{
    free_types(parcel);
    free(parcel->packed);
    free(parcel);
}

/* The datatype of the riders' bytes and the program's buffer; MPI_DATATYPE_NULL if MPI refuses it. */
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

static bool is_carried(const struct parcel *parcel, int partner, MPI_Count count, MPI_Datatype type)
{
    return parcel->bytes && partner != MPI_PROC_NULL && count >= 0 && type != MPI_DATATYPE_NULL;
}

/* Make a parcel's part that goes out; false if nothing rides. */
static bool goes_out(struct parcel *parcel, const void *buffer, MPI_Count count, MPI_Datatype type, int to,
                     int tag)
{
    if (!is_carried(parcel, to, count, type))
        return false;
    parcel->to = to;
    parcel->tag = tag;
    parcel->out_type = joined(parcel->out, parcel->bytes, buffer, count, type);
    parcel->sends = parcel->out_type != MPI_DATATYPE_NULL;
    return parcel->sends;
}

static bool comes_in(struct parcel *parcel, void *buffer, MPI_Count count, MPI_Datatype type, int from,
                     int tag)
{
    if (!is_carried(parcel, from, count, type))
        return false;
    parcel->from = from;
    parcel->from_tag = tag;
    parcel->in_type = joined(parcel->in, parcel->bytes, buffer, count, type);
    parcel->receives = parcel->in_type != MPI_DATATYPE_NULL;
    return parcel->receives;
}

/* The same for a buffer that MPI_Isendrecv_replace uses for both ways; false if nothing rides. */
static inline bool is_exchanged(struct parcel *parcel, void *buffer, MPI_Count count, MPI_Datatype type,
                                int to, int tag, int from, int from_tag)
{
    packed_count bytes;
    int error;
    if (is_carried(parcel, to, count, type) &&
        (parcel->packed = packed_copy(buffer, count, type, parcel->comm, &bytes, &error)))
        goes_out(parcel, parcel->packed, bytes, MPI_PACKED, to, tag);
    comes_in(parcel, buffer, count, type, from, from_tag);
    return parcel->sends || parcel->receives;
}

/* One buffer for both ways: riders that come take the places of those that have left. */
static bool is_replaced(struct parcel *parcel, void *buffer, MPI_Count count, MPI_Datatype type, int to,
                        int tag, int from, int from_tag)
{
    if (!is_carried(parcel, to, count, type) && !is_carried(parcel, from, count, type))
        return false;
    parcel->to = to;
    parcel->tag = tag;
    parcel->from = from;
    parcel->from_tag = from_tag;
    parcel->in_type = joined(parcel->in, parcel->bytes, buffer, count, type);
    parcel->receives = from != MPI_PROC_NULL && parcel->in_type != MPI_DATATYPE_NULL;
    if (to != MPI_PROC_NULL)
        get_on(parcel, parcel->in);
    return parcel->in_type != MPI_DATATYPE_NULL;
}

static void leaves(struct parcel *parcel)
{
    parcel->active = true;
    if (parcel->sends)
        get_on(parcel, parcel->out);
}

#endif
