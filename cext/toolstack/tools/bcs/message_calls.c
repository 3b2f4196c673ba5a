/* Calls of messages between two ranks with counts of int; large_calls.c is the same for MPI_Count. */
#include "communicators.h"
#include "count_forms.h"
#include "layer.h"
#include "messages.h"
#include "notes.h"
#include "places.h"
#include "tool.h"

#define SENT(name, mode)                                                                                     \
    TOOL_PUBLIC int FORM(MPI_##name)(const void *buf, MESSAGE, int dest, int tag, MPI_Comm comm)             \
    {                                                                                                        \
        PSE_BCS_NOTE(#name, true);                                                                           \
        struct pse_bcs_comm *known = pse_bcs_sends(AT(buf, count, datatype), dest, tag, comm);               \
        if (!known)                                                                                          \
            PSE_BCS_AWAY(FORM(PMPI_##name)(buf, count, datatype, dest, tag, comm));                          \
        PSE_BCS_NOTE_MESSAGE(buf, count, datatype);                                                          \
        return pse_bcs_send(known, AT(buf, count, datatype), dest, tag, mode);                               \
    }

/* `ours` begins the message that the tool takes over. */
#define REQUESTED(name, ours)                                                                                \
    TOOL_PUBLIC int FORM(MPI_##name)(const void *buf, MESSAGE, int dest, int tag, MPI_Comm comm,             \
                                     MPI_Request *request)                                                   \
    {                                                                                                        \
        PSE_BCS_NOTE(#name, false);                                                                          \
        struct pse_bcs_comm *known = pse_bcs_sends(AT(buf, count, datatype), dest, tag, comm);               \
        if (known) {                                                                                         \
            PSE_BCS_NOTE_MESSAGE(buf, count, datatype);                                                      \
            return ours;                                                                                     \
        }                                                                                                    \
        if (dest != MPI_PROC_NULL)                                                                           \
            pse_bcs_expect_progress();                                                                       \
        return FORM(PMPI_##name)(buf, count, datatype, dest, tag, comm, request);                            \
    }

#define BEGUN(name, mode)                                                                                    \
    REQUESTED(name, pse_bcs_isend(known, AT(buf, count, datatype), dest, tag, mode, request))
#define PERSISTENT(name, mode)                                                                               \
    REQUESTED(name, pse_bcs_persist(known, AT(buf, count, datatype), dest, tag, false, mode, request))

SENT(Send, PSE_BCS_STANDARD)
SENT(Rsend, PSE_BCS_STANDARD)
SENT(Ssend, PSE_BCS_SYNCHRONOUS)
BEGUN(Isend, PSE_BCS_STANDARD)
BEGUN(Irsend, PSE_BCS_STANDARD)
BEGUN(Issend, PSE_BCS_SYNCHRONOUS)
BEGUN(Ibsend, PSE_BCS_BUFFERED)
PERSISTENT(Send_init, PSE_BCS_STANDARD)
PERSISTENT(Rsend_init, PSE_BCS_STANDARD)
PERSISTENT(Ssend_init, PSE_BCS_SYNCHRONOUS)
PERSISTENT(Bsend_init, PSE_BCS_BUFFERED)

TOOL_PUBLIC int FORM(MPI_Bsend)(const void *buf, MESSAGE, int dest, int tag, MPI_Comm comm)
{
    MPI_Request request;
    PSE_BCS_NOTE("Bsend", true);
    struct pse_bcs_comm *known = pse_bcs_sends(AT(buf, count, datatype), dest, tag, comm);
    if (!known)
        PSE_BCS_AWAY(FORM(PMPI_Bsend)(buf, count, datatype, dest, tag, comm));
    PSE_BCS_NOTE_MESSAGE(buf, count, datatype);
    pse_bcs_isend(known, AT(buf, count, datatype), dest, tag, PSE_BCS_BUFFERED, &request);
    pse_bcs_abandon(pse_bcs_operation_of(request));
    return MPI_SUCCESS;
}

TOOL_PUBLIC int FORM(MPI_Recv)(void *buf, MESSAGE, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    PSE_BCS_NOTE("Recv", true);
    struct pse_bcs_comm *known = pse_bcs_receives(AT(buf, count, datatype), source, tag, comm);
    if (!known)
        PSE_BCS_AWAY(FORM(PMPI_Recv)(buf, count, datatype, source, tag, comm, status));
    PSE_BCS_NOTE_MESSAGE(buf, count, datatype);
    return pse_bcs_receive(known, AT(buf, count, datatype), source, tag, status);
}

#define RECEIVED(name, ours)                                                                                 \
    TOOL_PUBLIC int FORM(MPI_##name)(void *buf, MESSAGE, int source, int tag, MPI_Comm comm,                 \
                                     MPI_Request *request)                                                   \
    {                                                                                                        \
        PSE_BCS_NOTE(#name, false);                                                                          \
        struct pse_bcs_comm *known = pse_bcs_receives(AT(buf, count, datatype), source, tag, comm);          \
        if (known) {                                                                                         \
            PSE_BCS_NOTE_MESSAGE(buf, count, datatype);                                                      \
            return ours;                                                                                     \
        }                                                                                                    \
        if (source != MPI_PROC_NULL)                                                                         \
            pse_bcs_expect_progress();                                                                       \
        return FORM(PMPI_##name)(buf, count, datatype, source, tag, comm, request);                          \
    }

RECEIVED(Irecv, pse_bcs_ireceive(known, AT(buf, count, datatype), source, tag, request))
RECEIVED(Recv_init,
         pse_bcs_persist(known, AT(buf, count, datatype), source, tag, true, PSE_BCS_STANDARD, request))

TOOL_PUBLIC int FORM(MPI_Mrecv)(void *buf, MESSAGE, MPI_Message *message, MPI_Status *status)
{
    PSE_BCS_NOTE("Mrecv", true);
    if (pse_bcs_is_message(*message)) {
        PSE_BCS_NOTE_MESSAGE(buf, count, datatype);
        return pse_bcs_receive_message(message, AT(buf, count, datatype), status);
    }
    PSE_BCS_AWAY(FORM(PMPI_Mrecv)(buf, count, datatype, message, status));
}

TOOL_PUBLIC int FORM(MPI_Imrecv)(void *buf, MESSAGE, MPI_Message *message, MPI_Request *request)
{
    PSE_BCS_NOTE("Imrecv", false);
    if (pse_bcs_is_message(*message)) {
        PSE_BCS_NOTE_MESSAGE(buf, count, datatype);
        return pse_bcs_ireceive_message(message, AT(buf, count, datatype), request);
    }
    return FORM(PMPI_Imrecv)(buf, count, datatype, message, request);
}

#define OUTGOING sendbuf, sendcount, sendtype
#define INCOMING recvbuf, recvcount, recvtype
#define REPLACED buf, count, datatype

/* Where one half has no partner, the other is done by itself. */
#define EXCHANGE(name, out, in, replaces, theirs)                                                            \
    {                                                                                                        \
        PSE_BCS_NOTE(name, true);                                                                            \
        const struct pse_bcs_both both = {AT(out), AT(in), dest, sendtag, source, recvtag, replaces};        \
        struct pse_bcs_comm *known = pse_bcs_exchanges(&both, comm);                                         \
        if (known) {                                                                                         \
            PSE_BCS_NOTE_BYTES(pse_bcs_bytes_of(both.from));                                                 \
            return pse_bcs_exchange(known, &both, status, NULL);                                             \
        }                                                                                                    \
        if (pse_bcs_comm_of(comm) && dest == MPI_PROC_NULL)                                                  \
            return FORM(MPI_Recv)(in, source, recvtag, comm, status);                                        \
        if (pse_bcs_comm_of(comm) && source == MPI_PROC_NULL) {                                              \
            const int error = FORM(MPI_Send)(out, dest, sendtag, comm);                                      \
            return error ? error : FORM(PMPI_Recv)(in, source, recvtag, comm, status);                       \
        }                                                                                                    \
        PSE_BCS_AWAY(theirs);                                                                                \
    }

TOOL_PUBLIC int FORM(MPI_Sendrecv)(SENDING, int dest, int sendtag, RECEIVING, int source, int recvtag,
                                   MPI_Comm comm, MPI_Status *status)
    EXCHANGE("Sendrecv", OUTGOING, INCOMING, false,
             FORM(PMPI_Sendrecv)(OUTGOING, dest, sendtag, INCOMING, source, recvtag, comm, status))

        TOOL_PUBLIC int FORM(MPI_Sendrecv_replace)(void *buf, MESSAGE, int dest, int sendtag, int source,
                                                   int recvtag, MPI_Comm comm, MPI_Status *status)
            EXCHANGE("Sendrecv_replace", REPLACED, REPLACED, true,
                     FORM(PMPI_Sendrecv_replace)(REPLACED, dest, sendtag, source, recvtag, comm, status))

#if MPI_VERSION >= 4
#define EXCHANGE_BEGUN(name, out, in, replaces, theirs)                                                      \
    {                                                                                                        \
        PSE_BCS_NOTE(name, false);                                                                           \
        const struct pse_bcs_both both = {AT(out), AT(in), dest, sendtag, source, recvtag, replaces};        \
        struct pse_bcs_comm *known = pse_bcs_exchanges(&both, comm);                                         \
        if (known) {                                                                                         \
            PSE_BCS_NOTE_BYTES(pse_bcs_bytes_of(both.from));                                                 \
            return pse_bcs_exchange(known, &both, MPI_STATUS_IGNORE, request);                               \
        }                                                                                                    \
        if (pse_bcs_comm_of(comm) && dest == MPI_PROC_NULL)                                                  \
            return FORM(MPI_Irecv)(in, source, recvtag, comm, request);                                      \
        if (pse_bcs_comm_of(comm) && source == MPI_PROC_NULL)                                                \
            return FORM(MPI_Isend)(out, dest, sendtag, comm, request);                                       \
        pse_bcs_expect_progress();                                                                           \
        return theirs;                                                                                       \
    }

                TOOL_PUBLIC int FORM(MPI_Isendrecv)(SENDING, int dest, int sendtag, RECEIVING, int source,
                                                    int recvtag, MPI_Comm comm, MPI_Request *request)
                    EXCHANGE_BEGUN("Isendrecv", OUTGOING, INCOMING, false,
                                   FORM(PMPI_Isendrecv)(OUTGOING, dest, sendtag, INCOMING, source, recvtag,
                                                        comm, request))

                        TOOL_PUBLIC
    int FORM(MPI_Isendrecv_replace)(void *buf, MESSAGE, int dest, int sendtag, int source, int recvtag,
                                    MPI_Comm comm, MPI_Request *request)
        EXCHANGE_BEGUN("Isendrecv_replace", REPLACED, REPLACED, true,
                       FORM(PMPI_Isendrecv_replace)(REPLACED, dest, sendtag, source, recvtag, comm, request))
#endif
