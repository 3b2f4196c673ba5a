/* Sizes of datatypes, and neighbours in topologies. */
#include "bytes.h"

#include <stdlib.h>

#include "hot.h"
#include "tool_memory.h"

/* Linked first of the hot data, which begin a page with it. */
PSE_TRACE_HOT_DATA
__attribute__((aligned(PSE_TRACE_PAGE))) struct sized_type pse_trace_known_types[KNOWN_TYPES];

uint64_t pse_trace_size_of(MPI_Datatype datatype)
{
    int bytes = 0, a, b, c, combiner = MPI_COMBINER_NAMED;
    if (datatype == MPI_DATATYPE_NULL || PMPI_Type_size(datatype, &bytes) != MPI_SUCCESS)
        return 0;
    PMPI_Type_get_envelope(datatype, &a, &b, &c, &combiner);
    if (combiner == MPI_COMBINER_NAMED)
        *pse_trace_known_type(datatype) = (struct sized_type){datatype, (uint64_t)bytes};
    return (uint64_t)bytes;
}

int pse_trace_degree(MPI_Comm comm, int out)
{
    int topology = MPI_UNDEFINED, in_count = 0, out_count = 0, weighted, rank;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &in_count, &out_count, &weighted);
    } else if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &in_count);
        in_count = out_count = 2 * in_count;
    } else if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &in_count);
        out_count = in_count;
    }
    return out ? out_count : in_count;
}

static void dist_graph_neighbors(MPI_Comm comm, int count, int *ranks)
{
    const int sources = pse_trace_degree(comm, 0);
    int *rest = pse_tool_memory((size_t)(2 * sources + count) * sizeof *rest);
    PMPI_Dist_graph_neighbors(comm, sources, rest, rest + sources, count, ranks, rest + (size_t)2 * sources);
    free(rest);
}

void pse_trace_neighbors(MPI_Comm comm, int count, int *ranks)
{
    int topology = MPI_UNDEFINED, rank;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_DIST_GRAPH) {
        dist_graph_neighbors(comm, count, ranks);
    } else if (topology == MPI_CART) {
        for (int i = 0; i < count; i += 2)
            PMPI_Cart_shift(comm, i / 2, 1, ranks + i, ranks + i + 1);
    } else if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors(comm, rank, count, ranks);
    }
}
