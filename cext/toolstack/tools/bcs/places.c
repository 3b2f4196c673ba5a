/* Packing and unpacking. */
#include "places.h"

#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "packed_copy.h"

enum { KNOWN = 64 };

/* Handles of MPI's own types are never those of others. */
static struct {
    MPI_Datatype type;
    size_t size;
} known[KNOWN];

static size_t find_size(MPI_Datatype type)
{
    int integers, addresses, types, combiner, size;
    MPI_Aint low, extent;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        return 0;
    PMPI_Type_get_extent(type, &low, &extent), PMPI_Type_size(type, &size);
    return low == 0 && extent == size ? (size_t)size : 0;
}

size_t pse_bcs_plain_size(MPI_Datatype type)
{
    const size_t slot = (size_t)(((uintptr_t)type ^ (uintptr_t)type >> 6) % KNOWN);
    if (known[slot].size && known[slot].type == type)
        return known[slot].size;
    const size_t size = find_size(type);
    if (size)
        known[slot].type = type, known[slot].size = size;
    return size;
}

size_t pse_bcs_bytes_of(struct pse_bcs_place place)
{
    MPI_Count size;
    PMPI_Type_size_x(place.type, &size);
    return (size_t)(size * place.count);
}

MPI_Aint pse_bcs_extent_of(MPI_Datatype type)
{
    MPI_Aint low, extent;
    PMPI_Type_get_extent(type, &low, &extent);
    return extent;
}

void *pse_bcs_pack(struct pse_bcs_place from, size_t *bytes)
{
    int error;
    pse_packed_count length;
    void *packed = pse_tool_packed_copy(from.buffer, from.count, from.type, MPI_COMM_SELF, &length, &error);
    if (!packed)
        pse_bcs_end_job("a message can't be packed (error %d of MPI)", error);
    *bytes = (size_t)length;
    return packed;
}

static void unpack_whole(const void *packed, struct pse_bcs_place into)
{
    pse_packed_count position = 0;
    PSE_PACKED_FORM(PMPI_Unpack)(packed, (pse_packed_count)pse_bcs_bytes_of(into), &position, into.buffer,
                                 (pse_packed_count)into.count, into.type, MPI_COMM_SELF);
}

void pse_bcs_unpack(const void *packed, size_t bytes, struct pse_bcs_place into)
{
    if (!bytes || bytes >= pse_bcs_bytes_of(into)) {
        if (bytes)
            unpack_whole(packed, into);
        return;
    }
    size_t length; /* The rest stays as it is, be it a part of an element. */
    void *whole = pse_bcs_pack(into, &length);
    memcpy(whole, packed, bytes);
    unpack_whole(whole, into);
    free(whole);
}

void pse_bcs_copy(struct pse_bcs_place from, struct pse_bcs_place into)
{
    size_t bytes = pse_bcs_plain_size(from.type) * (size_t)from.count;
    if (bytes) {
        memcpy(into.buffer, from.buffer, bytes);
        return;
    }
    void *packed = pse_bcs_pack(from, &bytes);
    pse_bcs_unpack(packed, bytes, into);
    free(packed);
}
