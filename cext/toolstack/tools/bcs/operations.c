/* Posting the messages of operations, waiting for them, and ending them. */
#include "operations.h"

#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "packed_copy.h"
#include "tool.h"

enum { TAG_OF_LABEL = PSE_BCS_LABELS };

/* Statuses and errors */

void pse_bcs_set_status(MPI_Status *status, int source, int tag, uint64_t bytes, bool cancelled)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)bytes);
    PMPI_Status_set_cancelled(status, cancelled);
}

void pse_bcs_set_empty_status(MPI_Status *status)
{
    pse_bcs_set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
}

static void ignore(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
}

/* A communicator of this rank alone, with a handler that does nothing. */
static MPI_Comm make_comm_that_ignores_errors(void)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm);
    PMPI_Comm_create_errhandler(ignore, &handler);
    PMPI_Comm_set_errhandler(comm, handler);
    PMPI_Errhandler_free(&handler);
    return comm;
}

/* What a call gives that had an error handler of the program called: with MPICH 5 success, with MPICH 4.0 and
 * others the error.  MPI shows it, by a message that is too long (Intel's does not mind one for no bytes). */
static bool own_handlers_make_success(void)
{
    enum { UNKNOWN, ERROR, SUCCESS };
    static int given = UNKNOWN;
    if (given == UNKNOWN) {
        MPI_Comm comm = make_comm_that_ignores_errors();
        MPI_Request sent;
        char sending[2] = {0}, one;
        PMPI_Isend(sending, 2, MPI_BYTE, 0, 0, comm, &sent);
        given = PMPI_Recv(&one, 1, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE) ? ERROR : SUCCESS;
        PMPI_Wait(&sent, MPI_STATUS_IGNORE);
        PMPI_Comm_free(&comm);
    }
    return given == SUCCESS;
}

int pse_bcs_raise(const struct pse_bcs_comm *comm, int error)
{
    MPI_Errhandler handler;
    if (error == MPI_SUCCESS)
        return error;
    PMPI_Comm_get_errhandler(comm->handle, &handler);
    const bool is_own = handler != MPI_ERRORS_RETURN;
    PMPI_Errhandler_free(&handler);
    PMPI_Comm_call_errhandler(comm->handle, error);
    return is_own && own_handlers_make_success() ? MPI_SUCCESS : error;
}

/* Posting */

void pse_bcs_begin(struct pse_bcs_operation *operation, struct pse_bcs_comm *comm, bool blocking)
{
    memset(operation, 0, sizeof *operation);
    operation->comm = comm;
    operation->blocking = blocking;
    operation->parts = operation->few;
    operation->room = 2;
    operation->handle = MPI_REQUEST_NULL;
    comm->references++;
}

void pse_bcs_begin_collective(struct pse_bcs_operation *operation, struct pse_bcs_comm *comm, uint32_t label,
                              int root, bool blocking)
{
    pse_bcs_begin(operation, comm, blocking);
    operation->label = label;
    operation->tag = (int)label + TAG_OF_LABEL * (root + 1);
    operation->room = 2 * comm->size;
    operation->parts = pse_bcs_memory((size_t)operation->room * sizeof *operation->parts);
}

static struct pse_bcs_envelope envelope(const struct pse_bcs_operation *operation, int rank, int tag)
{
    return (struct pse_bcs_envelope){
        .peer = rank == MPI_ANY_SOURCE ? PSE_BCS_ANY : operation->comm->world[rank],
        .tag = tag == MPI_ANY_TAG ? PSE_BCS_ANY : tag,
        .context = operation->comm->context + (operation->label != PSE_BCS_LABEL_MESSAGE),
        .label = operation->label,
        .blocking = operation->blocking && !operation->label};
}

void pse_bcs_add_send(struct pse_bcs_operation *operation, struct pse_bcs_place from, int rank, int tag,
                      enum pse_bcs_mode mode)
{
    struct pse_bcs_part *part = &operation->parts[operation->count++];
    struct pse_bcs_envelope to = envelope(operation, rank, tag);
    size_t bytes = 0, element = from.count ? pse_bcs_plain_size(from.type) : 0;
    bool is_plain = !from.count || (element && mode != PSE_BCS_BUFFERED);
    *part = (struct pse_bcs_part){.receives = false};
    to.synchronous = mode == PSE_BCS_SYNCHRONOUS;
    if (is_plain)
        bytes = element * (size_t)from.count;
    else
        part->packed = pse_bcs_pack(from, &bytes);
    const void *data = is_plain ? from.buffer : part->packed;
    part->descriptor = pse_bcs_layer_posted(pse_bcs_end_send(pse_bcs_layer, data, bytes, &to));
}

/* The program may give up a type before the message comes. */
static struct pse_bcs_place kept_place(struct pse_bcs_place into, bool blocking)
{
    if (!blocking)
        PMPI_Type_dup(into.type, &into.type);
    return into;
}

void pse_bcs_add_receive(struct pse_bcs_operation *operation, struct pse_bcs_place into, int rank, int tag)
{
    struct pse_bcs_part *part = &operation->parts[operation->count++];
    const bool is_collective = operation->label != PSE_BCS_LABEL_MESSAGE;
    const struct pse_bcs_envelope from = envelope(operation, rank, is_collective ? MPI_ANY_TAG : tag);
    const size_t element = into.count ? pse_bcs_plain_size(into.type) : 1;
    size_t bytes = element * (size_t)into.count;
    *part = (struct pse_bcs_part){.receives = true, .expected = tag};
    if (!element) {
        bytes = pse_bcs_bytes_of(into);
        part->packed = pse_bcs_memory(bytes);
        part->into = kept_place(into, operation->blocking);
    }
    part->bytes = bytes;
    void *data = element ? into.buffer : part->packed;
    part->descriptor = pse_bcs_layer_posted(pse_bcs_end_receive(pse_bcs_layer, data, bytes, &from));
}

/* Ending */

static const char *label_of(int tag)
{
    const char *name = pse_bcs_labels[tag % TAG_OF_LABEL];
    return name ? name : "another operation";
}

static _Noreturn void tell_mismatch(const struct pse_bcs_operation *operation, int source, int tag)
{
    int me = operation->comm->world[operation->comm->rank];
    const char *own = label_of(operation->tag), *other = label_of(tag);
    const int own_root = operation->tag / TAG_OF_LABEL - 1, other_root = tag / TAG_OF_LABEL - 1;
    if (own == other)
        pse_bcs_end_job("collective operations don't fit together: rank %d in %s with root %d and rank %d in "
                        "%s with root %d",
                        me, own, own_root, source, other, other_root);
    pse_bcs_end_job("collective operations don't fit together: rank %d in %s and rank %d in %s", me, own,
                    source, other);
}

static _Noreturn void tell_short(const struct pse_bcs_operation *operation, const struct pse_bcs_part *part,
                                 const struct pse_bcs_received *received)
{
    pse_bcs_end_job(
        "collective operations don't fit together: rank %d in %s expects %zu B of rank %d and gets "
        "%zu B",
        operation->comm->world[operation->comm->rank], label_of(operation->tag), part->bytes,
        received->source, (size_t)received->bytes);
}

static void end_receive(struct pse_bcs_operation *operation, struct pse_bcs_part *part)
{
    const struct pse_bcs_received received = pse_bcs_end_received(pse_bcs_layer, part->descriptor);
    if (operation->cancelled)
        return;
    if (operation->label && received.tag != part->expected)
        tell_mismatch(operation, received.source, received.tag);
    if (operation->label && received.bytes < part->bytes)
        tell_short(operation, part, &received);
    operation->has_envelope = true;
    operation->source = operation->comm->ranks[received.source];
    operation->received_tag = received.tag;
    operation->bytes = received.bytes;
    operation->truncated |= received.truncated;
    if (part->packed)
        pse_bcs_unpack(part->packed, received.bytes, part->into);
}

static void end_parts(struct pse_bcs_operation *operation)
{
    for (int i = 0; i < operation->count; i++) {
        struct pse_bcs_part *part = &operation->parts[i];
        if (part->receives)
            end_receive(operation, part);
        pse_bcs_end_release(pse_bcs_layer, part->descriptor);
        if (part->receives && part->packed && !operation->blocking)
            PMPI_Type_free(&part->into.type);
        free(part->packed);
    }
    operation->count = 0;
}

/* In the order of ranks, as cext/coschedule/transfer.cpp does it: the same bits whoever does it. */
static void combine(struct pse_bcs_reduction *reduction)
{
    struct pse_bcs_place sum = reduction->result;
    sum.buffer = reduction->first + (reduction->contributions - 1) * reduction->stride;
    for (int i = reduction->contributions - 1; i-- > 0;)
        PSE_PACKED_FORM(PMPI_Reduce_local)(reduction->first + i * reduction->stride, sum.buffer,
                                           (pse_packed_count)sum.count, sum.type, reduction->op);
    pse_bcs_copy(sum, reduction->result);
}

int pse_bcs_finish(struct pse_bcs_operation *operation)
{
    end_parts(operation);
    if (operation->reduction.contributions && operation->reduction.result.count)
        combine(&operation->reduction);
    free(operation->reduction.memory);
    return operation->truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

void pse_bcs_tell_status(const struct pse_bcs_operation *operation, MPI_Status *status)
{
    if (operation->has_envelope && !operation->label)
        pse_bcs_set_status(status, operation->source, operation->received_tag, operation->bytes, false);
    else
        pse_bcs_set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, operation->cancelled);
}

void pse_bcs_clear(struct pse_bcs_operation *operation)
{
    if (operation->parts != operation->few)
        free(operation->parts);
    pse_bcs_comm_release(operation->comm);
}
