/* A message with its headers: made of two parts, the headers' bytes and the program's buffer. */
#ifndef PSE_PIGGYBACK_MESSAGE_H
#define PSE_PIGGYBACK_MESSAGE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "handle_table.h"
#include "pse_tools.h"

/* One message, or both of MPI_Sendrecv: its headers, and what the communication is made with. */
struct piggyback_message {
    struct pse_handle_node node;
    MPI_Comm comm;
    size_t bytes; /* of all headers; 0: there is none */
    int to, tag, from, from_tag;
    bool sends, receives, persistent, active;
    void *packed;                   /* what leaves from a buffer that the answer comes to */
    MPI_Datatype out_type, in_type; /* MPI_DATATYPE_NULL: none */
    unsigned char out[PSE_PIGGYBACK_MOST], in[PSE_PIGGYBACK_MOST];
};

/* All get off a message that has come.  (MPICH gives MPI_Isendrecv no status.) */
void pse_piggyback_read(const struct piggyback_message *message, const MPI_Status *status);
void pse_piggyback_begin(struct piggyback_message *message, MPI_Comm comm);
void pse_piggyback_free_types(struct piggyback_message *message);
void pse_piggyback_free(struct piggyback_message *message);
/* Make the part that goes out; false if there are no headers. */
bool pse_piggyback_goes_out(struct piggyback_message *message, const void *buffer, MPI_Count count,
                            MPI_Datatype type, int to, int tag);
bool pse_piggyback_comes_in(struct piggyback_message *message, void *buffer, MPI_Count count,
                            MPI_Datatype type, int from, int tag);
/* The same for a buffer that MPI_Isendrecv_replace uses for both ways; false if there are no headers. */
bool pse_piggyback_is_exchanged(struct piggyback_message *message, void *buffer, MPI_Count count,
                                MPI_Datatype type, int to, int tag, int from, int from_tag);
/* One buffer for both ways: headers that come take the places of those that have left. */
bool pse_piggyback_is_replaced(struct piggyback_message *message, void *buffer, MPI_Count count,
                               MPI_Datatype type, int to, int tag, int from, int from_tag);
void pse_piggyback_fill(struct piggyback_message *message);

#endif
