/* Messages between two ranks. */
#include "messages.h"
#include "notes.h"

#include <stdlib.h>
#include <string.h>

#include "communicators.h"
#include "handle_table.h"
#include "layer.h"
#include "places.h"
#include "tool.h"

static bool is_tag(int tag)
{
    static int *most;
    int found = 1;
    if (!most)
        PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    return tag >= 0 && (!found || tag <= *most);
}

static bool is_place(struct pse_bcs_place place)
{
    return place.count >= 0 && place.type != MPI_DATATYPE_NULL;
}

static bool is_rank(const struct pse_bcs_comm *comm, int rank)
{
    return rank >= 0 && rank < comm->size;
}

struct pse_bcs_comm *pse_bcs_sends(struct pse_bcs_place place, int rank, int tag, MPI_Comm comm)
{
    struct pse_bcs_comm *known = pse_bcs_comm_of(comm);
    return known && is_place(place) && is_rank(known, rank) && is_tag(tag) ? known : NULL;
}

struct pse_bcs_comm *pse_bcs_receives(struct pse_bcs_place place, int rank, int tag, MPI_Comm comm)
{
    struct pse_bcs_comm *known = pse_bcs_comm_of(comm);
    const bool fits = known && is_place(place) && (rank == MPI_ANY_SOURCE || is_rank(known, rank)) &&
                      (tag == MPI_ANY_TAG || is_tag(tag));
    return fits ? known : NULL;
}

int pse_bcs_send(struct pse_bcs_comm *comm, struct pse_bcs_place from, int rank, int tag,
                 enum pse_bcs_mode mode)
{
    struct pse_bcs_operation one;
    pse_bcs_begin(&one, comm, true);
    pse_bcs_add_send(&one, from, rank, tag, mode);
    return pse_bcs_run(&one, MPI_STATUS_IGNORE);
}

int pse_bcs_isend(struct pse_bcs_comm *comm, struct pse_bcs_place from, int rank, int tag,
                  enum pse_bcs_mode mode, MPI_Request *request)
{
    struct pse_bcs_operation *one = pse_bcs_allocate();
    pse_bcs_begin(one, comm, false);
    pse_bcs_add_send(one, from, rank, tag, mode);
    pse_bcs_start(one, request);
    return MPI_SUCCESS;
}

int pse_bcs_receive(struct pse_bcs_comm *comm, struct pse_bcs_place into, int rank, int tag,
                    MPI_Status *status)
{
    struct pse_bcs_operation one;
    pse_bcs_begin(&one, comm, true);
    pse_bcs_add_receive(&one, into, rank, tag);
    return pse_bcs_run(&one, status);
}

int pse_bcs_ireceive(struct pse_bcs_comm *comm, struct pse_bcs_place into, int rank, int tag,
                     MPI_Request *request)
{
    struct pse_bcs_operation *one = pse_bcs_allocate();
    pse_bcs_begin(one, comm, false);
    pse_bcs_add_receive(one, into, rank, tag);
    pse_bcs_start(one, request);
    return MPI_SUCCESS;
}

int pse_bcs_persist(struct pse_bcs_comm *comm, struct pse_bcs_place place, int rank, int tag, bool receives,
                    enum pse_bcs_mode mode, MPI_Request *request)
{
    struct pse_bcs_operation *one = pse_bcs_allocate();
    PMPI_Type_dup(place.type, &place.type);
    pse_bcs_begin(one, comm, false);
    one->persistent = pse_bcs_memory(sizeof *one->persistent);
    *one->persistent = (struct pse_bcs_persistent){receives, false, mode, place, .peer = rank, .tag = tag};
    pse_bcs_start(one, request);
    return MPI_SUCCESS;
}

struct pse_bcs_comm *pse_bcs_exchanges(const struct pse_bcs_both *both, MPI_Comm comm)
{
    struct pse_bcs_comm *known = pse_bcs_receives(both->into, both->source, both->recvtag, comm);
    return known ? pse_bcs_sends(both->from, both->dest, both->sendtag, comm) : NULL;
}

int pse_bcs_exchange(struct pse_bcs_comm *comm, const struct pse_bcs_both *both, MPI_Status *status,
                     MPI_Request *request)
{
    struct pse_bcs_operation own, *one = request ? pse_bcs_allocate() : &own;
    pse_bcs_begin(one, comm, false);
    /* What is replaced is copied before anything may arrive. */
    pse_bcs_add_send(one, both->from, both->dest, both->sendtag,
                     both->replaces ? PSE_BCS_BUFFERED : PSE_BCS_STANDARD);
    pse_bcs_add_receive(one, both->into, both->source, both->recvtag);
    if (!request)
        return pse_bcs_run(one, status);
    pse_bcs_start(one, request);
    return MPI_SUCCESS;
}

/* Matched probes: the message is received into memory of the tool's. */

struct message {
    struct pse_handle_node node;
    struct pse_bcs_comm *comm;
    int source, tag;
    size_t bytes;
    char data[];
};

static struct pse_handle_table messages;

/* Look for a message that could be received, and give its status; false: there is none, and `waits` is false.
 */
static bool probe(struct pse_bcs_comm *comm, int rank, int tag, bool waits, struct pse_bcs_received *found,
                  MPI_Status *status)
{
    const struct pse_bcs_envelope from = {.peer = rank == MPI_ANY_SOURCE ? PSE_BCS_ANY : comm->world[rank],
                                          .tag = tag == MPI_ANY_TAG ? PSE_BCS_ANY : tag,
                                          .context = comm->context,
                                          .blocking = true};
    const uint32_t one = pse_bcs_layer_posted(pse_bcs_end_probe(pse_bcs_layer, &from));
    const bool is_there = pse_bcs_layer_wait(&one, 1, waits ? PSE_BCS_FOR_ALL : PSE_BCS_FOR_NONE, NULL);
    if (is_there) {
        *found = pse_bcs_end_received(pse_bcs_layer, one);
        found->source = comm->ranks[found->source];
        pse_bcs_set_status(status, found->source, found->tag, found->bytes, false);
    }
    pse_bcs_end_release(pse_bcs_layer, one);
    return is_there;
}

static struct message *receive_found(struct pse_bcs_comm *comm, const struct pse_bcs_received *found)
{
    struct message *one = pse_bcs_memory(sizeof *one + found->bytes);
    const struct pse_bcs_place into = {one->data, (MPI_Count)found->bytes, MPI_BYTE};
    pse_bcs_receive(comm, into, found->source, found->tag, MPI_STATUS_IGNORE);
    one->comm = comm;
    comm->references++;
    one->source = found->source, one->tag = found->tag, one->bytes = found->bytes;
    return one;
}

static MPI_Message message_for(struct pse_bcs_comm *comm, const struct pse_bcs_received *found)
{
    const MPI_Message handle = (MPI_Message)(uintptr_t)pse_bcs_take_handle();
    pse_handle_add(&messages, (uintptr_t)handle, receive_found(comm, found));
    return handle;
}

bool pse_bcs_is_message(MPI_Message message)
{
    return pse_handle_find(&messages, (uintptr_t)message) != NULL;
}

int pse_bcs_receive_message(MPI_Message *message, struct pse_bcs_place into, MPI_Status *status)
{
    struct message *one = pse_handle_take(&messages, (uintptr_t)*message);
    const size_t room = into.count ? pse_bcs_bytes_of(into) : 0;
    const size_t bytes = one->bytes < room ? one->bytes : room;
    int error = one->bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    pse_bcs_unpack(one->data, bytes, into);
    pse_bcs_set_status(status, one->source, one->tag, bytes, false);
    error = pse_bcs_raise(one->comm, error);
    pse_bcs_comm_release(one->comm);
    pse_bcs_give_handle((MPI_Request)(uintptr_t)*message);
    *message = MPI_MESSAGE_NULL;
    free(one);
    return error;
}

int pse_bcs_ireceive_message(MPI_Message *message, struct pse_bcs_place into, MPI_Request *request)
{
    const struct message *found = pse_handle_find(&messages, (uintptr_t)*message);
    struct pse_bcs_operation *one = pse_bcs_allocate();
    pse_bcs_begin(one, found->comm, false);
    one->has_envelope = true;
    one->source = found->source, one->received_tag = found->tag, one->bytes = found->bytes;
    pse_bcs_start(one, request);
    return pse_bcs_receive_message(message, into, MPI_STATUS_IGNORE);
}

/* The communicator that the tool probes. */
static struct pse_bcs_comm *probes(int source, int tag, MPI_Comm comm)
{
    return pse_bcs_receives((struct pse_bcs_place){NULL, 0, MPI_BYTE}, source, tag, comm);
}

TOOL_PUBLIC int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    PSE_BCS_NOTE("Probe", true);
    struct pse_bcs_comm *known = probes(source, tag, comm);
    struct pse_bcs_received found;
    if (!known)
        PSE_BCS_AWAY(PMPI_Probe(source, tag, comm, status));
    probe(known, source, tag, true, &found, status);
    return MPI_SUCCESS;
}

TOOL_PUBLIC int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    PSE_BCS_NOTE("Iprobe", true);
    struct pse_bcs_comm *known = probes(source, tag, comm);
    struct pse_bcs_received found;
    if (!known)
        PSE_BCS_AWAY(PMPI_Iprobe(source, tag, comm, flag, status));
    *flag = probe(known, source, tag, false, &found, status);
    return MPI_SUCCESS;
}

TOOL_PUBLIC int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    PSE_BCS_NOTE("Mprobe", true);
    struct pse_bcs_comm *known = probes(source, tag, comm);
    struct pse_bcs_received found;
    if (!known)
        PSE_BCS_AWAY(PMPI_Mprobe(source, tag, comm, message, status));
    probe(known, source, tag, true, &found, status);
    *message = message_for(known, &found);
    return MPI_SUCCESS;
}

TOOL_PUBLIC int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                            MPI_Status *status)
{
    PSE_BCS_NOTE("Improbe", true);
    struct pse_bcs_comm *known = probes(source, tag, comm);
    struct pse_bcs_received found;
    if (!known)
        PSE_BCS_AWAY(PMPI_Improbe(source, tag, comm, flag, message, status));
    *flag = probe(known, source, tag, false, &found, status);
    if (*flag)
        *message = message_for(known, &found);
    return MPI_SUCCESS;
}
