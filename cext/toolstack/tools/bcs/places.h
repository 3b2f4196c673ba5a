/* Buffers as MPI describes them, and as bytes side by side. */
#ifndef PSE_BCS_PLACES_H
#define PSE_BCS_PLACES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pse_bcs_place {
    char *buffer;
    MPI_Count count;
    MPI_Datatype type;
};

/* A buffer as a call names it: one to send from is const there. */
#define AT(address, number, kind) ((struct pse_bcs_place){(char *)(uintptr_t)(address), number, kind})

/* Bytes of an element if elements lie side by side without gaps, else 0. */
size_t pse_bcs_plain_size(MPI_Datatype type);
/* Bytes of a message. */
size_t pse_bcs_bytes_of(struct pse_bcs_place place);
MPI_Aint pse_bcs_extent_of(MPI_Datatype type);

void *pse_bcs_pack(struct pse_bcs_place from, size_t *bytes);
void pse_bcs_unpack(const void *packed, size_t bytes, struct pse_bcs_place into);
void pse_bcs_copy(struct pse_bcs_place from, struct pse_bcs_place into);

#endif
