/* The headers that other tools have put before every message, and on which communicators. */
#ifndef PSE_PIGGYBACK_HEADERS_H
#define PSE_PIGGYBACK_HEADERS_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>

#include "tool.h"

enum { MOST_HEADERS = 16 };

#pragma GCC visibility push(hidden)

extern struct pse_piggyback_header pse_piggyback_headers[MOST_HEADERS];
extern int pse_piggyback_count;
extern size_t pse_piggyback_bytes; /* of all headers */
extern pthread_mutex_t pse_piggyback_mutex;

/* The tool's service: add a header; nonzero if there is no room, or a message has passed. */
int pse_piggyback_add(const struct pse_piggyback_header *header);
bool pse_piggyback_is_wanted(const struct pse_piggyback_header *header, MPI_Comm comm);
size_t pse_piggyback_bytes_on(MPI_Comm comm);

#pragma GCC visibility pop

#endif
