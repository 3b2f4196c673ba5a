/* Calls of messages between two ranks with counts of int; large_calls.c is the same for MPI_Count. */
#include "communicators.h"
#include "forms.h"
#include "layer.h"
#include "messages.h"
#include "tool.h"

#define SENT(name, mode)                                                                                     \
    TOOL_PUBLIC int FORM(MPI_##name)(const void *buf, MESSAGE, int dest, int tag, MPI_Comm comm)             \
    {                                                                                                        \
        struct pse_bcs_comm *known = pse_bcs_sends(AT(buf, count, datatype), dest, tag, comm);               \
        if (!known)                                                                                          \
            PSE_BCS_AWAY(FORM(PMPI_##name)(buf, count, datatype, dest, tag, comm));                          \
        return pse_bcs_send(known, AT(buf, count, datatype), dest, tag, mode);                               \
    }

#define BEGUN(name, mode)                                                                                    \
    TOOL_PUBLIC int FORM(MPI_##name)(const void *buf, MESSAGE, int dest, int tag, MPI_Comm comm,             \
                                     MPI_Request *request)                                                   \
    {                                                                                                        \
        struct pse_bcs_comm *known = pse_bcs_sends(AT(buf, count, datatype), dest, tag, comm);               \
        if (known)                                                                                           \
            return pse_bcs_isend(known, AT(buf, count, datatype), dest, tag, mode, request);                 \
        if (dest != MPI_PROC_NULL)                                                                           \
            pse_bcs_expect_progress();                                                                       \
        return FORM(PMPI_##name)(buf, count, datatype, dest, tag, comm, request);                            \
    }

#define PERSISTENT(name, mode)                                                                               \
    TOOL_PUBLIC int FORM(MPI_##name)(const void *buf, MESSAGE, int dest, int tag, MPI_Comm comm,             \
                                     MPI_Request *request)                                                   \
    {                                                                                                        \
        struct pse_bcs_comm *known = pse_bcs_sends(AT(buf, count, datatype), dest, tag, comm);               \
        if (known)                                                                                           \
            return pse_bcs_persist(known, AT(buf, count, datatype), dest, tag, false, mode, request);        \
        if (dest != MPI_PROC_NULL)                                                                           \
            pse_bcs_expect_progress();                                                                       \
        return FORM(PMPI_##name)(buf, count, datatype, dest, tag, comm, request);                            \
    }

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
    struct pse_bcs_comm *known = pse_bcs_sends(AT(buf, count, datatype), dest, tag, comm);
    if (!known)
        PSE_BCS_AWAY(FORM(PMPI_Bsend)(buf, count, datatype, dest, tag, comm));
    pse_bcs_isend(known, AT(buf, count, datatype), dest, tag, PSE_BCS_BUFFERED, &request);
    pse_bcs_abandon(pse_bcs_operation_of(request));
    return MPI_SUCCESS;
}

TOOL_PUBLIC int FORM(MPI_Recv)(void *buf, MESSAGE, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct pse_bcs_comm *known = pse_bcs_receives(AT(buf, count, datatype), source, tag, comm);
    if (!known)
        PSE_BCS_AWAY(FORM(PMPI_Recv)(buf, count, datatype, source, tag, comm, status));
    return pse_bcs_receive(known, AT(buf, count, datatype), source, tag, status);
}

TOOL_PUBLIC int FORM(MPI_Irecv)(void *buf, MESSAGE, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    struct pse_bcs_comm *known = pse_bcs_receives(AT(buf, count, datatype), source, tag, comm);
    if (known)
        return pse_bcs_ireceive(known, AT(buf, count, datatype), source, tag, request);
    if (source != MPI_PROC_NULL)
        pse_bcs_expect_progress();
    return FORM(PMPI_Irecv)(buf, count, datatype, source, tag, comm, request);
}

TOOL_PUBLIC int FORM(MPI_Recv_init)(void *buf, MESSAGE, int source, int tag, MPI_Comm comm,
                                    MPI_Request *request)
{
    struct pse_bcs_comm *known = pse_bcs_receives(AT(buf, count, datatype), source, tag, comm);
    if (known)
        return pse_bcs_persist(known, AT(buf, count, datatype), source, tag, true, PSE_BCS_STANDARD, request);
    if (source != MPI_PROC_NULL)
        pse_bcs_expect_progress();
    return FORM(PMPI_Recv_init)(buf, count, datatype, source, tag, comm, request);
}

TOOL_PUBLIC int FORM(MPI_Mrecv)(void *buf, MESSAGE, MPI_Message *message, MPI_Status *status)
{
    if (pse_bcs_is_message(*message))
        return pse_bcs_receive_message(message, AT(buf, count, datatype), status);
    PSE_BCS_AWAY(FORM(PMPI_Mrecv)(buf, count, datatype, message, status));
}

TOOL_PUBLIC int FORM(MPI_Imrecv)(void *buf, MESSAGE, MPI_Message *message, MPI_Request *request)
{
    if (pse_bcs_is_message(*message))
        return pse_bcs_ireceive_message(message, AT(buf, count, datatype), request);
    return FORM(PMPI_Imrecv)(buf, count, datatype, message, request);
}

/* Where one half has no partner, the other is done by itself. */

TOOL_PUBLIC int FORM(MPI_Sendrecv)(SENDING, int dest, int sendtag, RECEIVING, int source, int recvtag,
                                   MPI_Comm comm, MPI_Status *status)
{
    const struct pse_bcs_both both = {AT(sendbuf, sendcount, sendtype),
                                      AT(recvbuf, recvcount, recvtype),
                                      dest,
                                      sendtag,
                                      source,
                                      recvtag,
                                      false};
    struct pse_bcs_comm *known = pse_bcs_exchanges(&both, comm);
    if (known)
        return pse_bcs_exchange(known, &both, status, NULL);
    if (pse_bcs_comm_of(comm) && dest == MPI_PROC_NULL)
        return FORM(MPI_Recv)(recvbuf, recvcount, recvtype, source, recvtag, comm, status);
    if (pse_bcs_comm_of(comm) && source == MPI_PROC_NULL) {
        const int error = FORM(MPI_Send)(sendbuf, sendcount, sendtype, dest, sendtag, comm);
        return error ? error : FORM(PMPI_Recv)(recvbuf, recvcount, recvtype, source, recvtag, comm, status);
    }
    PSE_BCS_AWAY(FORM(PMPI_Sendrecv)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                                     recvtype, source, recvtag, comm, status));
}

TOOL_PUBLIC int FORM(MPI_Sendrecv_replace)(void *buf, MESSAGE, int dest, int sendtag, int source, int recvtag,
                                           MPI_Comm comm, MPI_Status *status)
{
    const struct pse_bcs_place place = AT(buf, count, datatype);
    const struct pse_bcs_both both = {place, place, dest, sendtag, source, recvtag, true};
    struct pse_bcs_comm *known = pse_bcs_exchanges(&both, comm);
    if (known)
        return pse_bcs_exchange(known, &both, status, NULL);
    if (pse_bcs_comm_of(comm) && dest == MPI_PROC_NULL)
        return FORM(MPI_Recv)(buf, count, datatype, source, recvtag, comm, status);
    if (pse_bcs_comm_of(comm) && source == MPI_PROC_NULL) {
        const int error = FORM(MPI_Send)(buf, count, datatype, dest, sendtag, comm);
        return error ? error : FORM(PMPI_Recv)(buf, count, datatype, source, recvtag, comm, status);
    }
    PSE_BCS_AWAY(
        FORM(PMPI_Sendrecv_replace)(buf, count, datatype, dest, sendtag, source, recvtag, comm, status));
}

#if MPI_VERSION >= 4
TOOL_PUBLIC int FORM(MPI_Isendrecv)(SENDING, int dest, int sendtag, RECEIVING, int source, int recvtag,
                                    MPI_Comm comm, MPI_Request *request)
{
    const struct pse_bcs_both both = {AT(sendbuf, sendcount, sendtype),
                                      AT(recvbuf, recvcount, recvtype),
                                      dest,
                                      sendtag,
                                      source,
                                      recvtag,
                                      false};
    struct pse_bcs_comm *known = pse_bcs_exchanges(&both, comm);
    if (known)
        return pse_bcs_exchange(known, &both, MPI_STATUS_IGNORE, request);
    if (pse_bcs_comm_of(comm) && dest == MPI_PROC_NULL)
        return FORM(MPI_Irecv)(recvbuf, recvcount, recvtype, source, recvtag, comm, request);
    if (pse_bcs_comm_of(comm) && source == MPI_PROC_NULL)
        return FORM(MPI_Isend)(sendbuf, sendcount, sendtype, dest, sendtag, comm, request);
    pse_bcs_expect_progress();
    return FORM(PMPI_Isendrecv)(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                                source, recvtag, comm, request);
}

TOOL_PUBLIC int FORM(MPI_Isendrecv_replace)(void *buf, MESSAGE, int dest, int sendtag, int source,
                                            int recvtag, MPI_Comm comm, MPI_Request *request)
{
    const struct pse_bcs_place place = AT(buf, count, datatype);
    const struct pse_bcs_both both = {place, place, dest, sendtag, source, recvtag, true};
    struct pse_bcs_comm *known = pse_bcs_exchanges(&both, comm);
    if (known)
        return pse_bcs_exchange(known, &both, MPI_STATUS_IGNORE, request);
    if (pse_bcs_comm_of(comm) && dest == MPI_PROC_NULL)
        return FORM(MPI_Irecv)(buf, count, datatype, source, recvtag, comm, request);
    if (pse_bcs_comm_of(comm) && source == MPI_PROC_NULL)
        return FORM(MPI_Isend)(buf, count, datatype, dest, sendtag, comm, request);
    pse_bcs_expect_progress();
    return FORM(PMPI_Isendrecv_replace)(buf, count, datatype, dest, sendtag, source, recvtag, comm, request);
}
#endif
