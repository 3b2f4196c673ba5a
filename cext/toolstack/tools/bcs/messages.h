/* Messages between two ranks, as their wrappers for both kinds of counts call them. */
#ifndef PSE_BCS_MESSAGES_H
#define PSE_BCS_MESSAGES_H

#include "operations.h"

/* The communicator of a message that the tool takes over; NULL: it is MPI's, or MPI says what is wrong with
 * it. */
struct pse_bcs_comm *pse_bcs_sends(struct pse_bcs_place place, int rank, int tag, MPI_Comm comm);
struct pse_bcs_comm *pse_bcs_receives(struct pse_bcs_place place, int rank, int tag, MPI_Comm comm);

int pse_bcs_send(struct pse_bcs_comm *comm, struct pse_bcs_place from, int rank, int tag,
                 enum pse_bcs_mode mode);
int pse_bcs_isend(struct pse_bcs_comm *comm, struct pse_bcs_place from, int rank, int tag,
                  enum pse_bcs_mode mode, MPI_Request *request);
int pse_bcs_receive(struct pse_bcs_comm *comm, struct pse_bcs_place into, int rank, int tag,
                    MPI_Status *status);
int pse_bcs_ireceive(struct pse_bcs_comm *comm, struct pse_bcs_place into, int rank, int tag,
                     MPI_Request *request);
int pse_bcs_persist(struct pse_bcs_comm *comm, struct pse_bcs_place place, int rank, int tag, bool receives,
                    enum pse_bcs_mode mode, MPI_Request *request);

struct pse_bcs_both {
    struct pse_bcs_place from, into;
    int dest, sendtag, source, recvtag;
    bool replaces; /* the message that is received takes the place of the one that is sent */
};
/* NULL if not both are the tool's, or one of them is not a message at all. */
struct pse_bcs_comm *pse_bcs_exchanges(const struct pse_bcs_both *both, MPI_Comm comm);
/* request NULL: wait for both. */
int pse_bcs_exchange(struct pse_bcs_comm *comm, const struct pse_bcs_both *both, MPI_Status *status,
                     MPI_Request *request);

/* A message that a matched probe has found. */
bool pse_bcs_is_message(MPI_Message message);
int pse_bcs_receive_message(MPI_Message *message, struct pse_bcs_place into, MPI_Status *status);
int pse_bcs_ireceive_message(MPI_Message *message, struct pse_bcs_place into, MPI_Request *request);

#endif
