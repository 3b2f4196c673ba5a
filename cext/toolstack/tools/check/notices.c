/* Sending and receiving notices. */
#include "notices.h"

#include <stdlib.h>

#include "tool_memory.h"

MPI_Comm pse_check_comm = MPI_COMM_NULL;
int pse_check_rank, pse_check_ranks;
uint64_t pse_check_notices_sent, pse_check_notices_received;

static pse_check_notice_handler *handler;

void pse_check_deliver_notice(const struct check_notice *notice, int from)
{
    handler(notice, from);
}

struct outgoing_notice {
    struct outgoing_notice *next;
    MPI_Request request;
    struct check_notice notice;
};

static struct check_notice incoming;
static MPI_Request incoming_request = MPI_REQUEST_NULL;
static struct outgoing_notice *outgoing;

static bool moves_something(const struct check_notice *notice)
{
    return notice->kind <= NOTICE_GO;
}

void pse_check_notify(int to, const struct check_notice *notice)
{
    pse_check_notices_sent += moves_something(notice);
    if (to == pse_check_rank) {
        pse_check_notices_received += moves_something(notice);
        pse_check_deliver_notice(notice, pse_check_rank);
        return;
    }
    struct outgoing_notice *one = pse_tool_memory(sizeof *one);
    one->notice = *notice;
    one->next = outgoing;
    outgoing = one;
    PMPI_Isend(&one->notice, sizeof one->notice, MPI_BYTE, to, 0, pse_check_comm, &one->request);
}

static void forget_sent(void)
{
    for (struct outgoing_notice **at = &outgoing; *at;) {
        int done;
        struct outgoing_notice *one = *at;
        PMPI_Test(&one->request, &done, MPI_STATUS_IGNORE);
        if (done) {
            *at = one->next;
            free(one);
        } else {
            at = &one->next;
        }
    }
}

static void expect_notice(void)
{
    PMPI_Irecv(&incoming, sizeof incoming, MPI_BYTE, MPI_ANY_SOURCE, 0, pse_check_comm, &incoming_request);
}

void pse_check_read_notices(void)
{
    MPI_Status status;
    int here = 1;
    while (incoming_request != MPI_REQUEST_NULL) {
        PMPI_Test(&incoming_request, &here, &status);
        if (!here)
            break;
        struct check_notice notice = incoming;
        expect_notice();
        pse_check_notices_received += moves_something(&notice);
        pse_check_deliver_notice(&notice, status.MPI_SOURCE);
    }
    forget_sent();
}

void pse_check_open_notices(pse_check_notice_handler *chosen)
{
    handler = chosen;
    PMPI_Comm_dup(MPI_COMM_WORLD, &pse_check_comm);
    PMPI_Comm_rank(pse_check_comm, &pse_check_rank);
    PMPI_Comm_size(pse_check_comm, &pse_check_ranks);
    expect_notice();
}

void pse_check_close_notices(void)
{
    PMPI_Cancel(&incoming_request);
    PMPI_Wait(&incoming_request, MPI_STATUS_IGNORE);
    while (outgoing)
        forget_sent();
    PMPI_Comm_free(&pse_check_comm);
}
