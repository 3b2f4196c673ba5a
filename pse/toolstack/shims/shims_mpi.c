/* Lengths of arrays and the completion of requests, for one MPI.
 *
 * MPI is called through pointers only, since the object that this gets into is also loaded into processes
 * without MPI.
 */
#include "shims_mpi.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(MPI_Count) == 8 && sizeof(MPI_Aint) == 8, "shims convert 64-bit integers");

/* The library's own MPI_x, looked up once for each place. */
#define PSE_MPI(routine)                                                                                     \
    ({                                                                                                       \
        static pse_function found;                                                                           \
        if (!__atomic_load_n(&found, __ATOMIC_RELAXED))                                                      \
            __atomic_store_n(&found, pse_toolstack_library_function("MPI_" #routine), __ATOMIC_RELAXED);     \
        (__typeof__(&MPI_##routine))found;                                                                   \
    })

uint64_t pse_toolstack_communicator_constant(int which)
{
    return PSE_HANDLE(which == 0 ? MPI_COMM_WORLD : which == 1 ? MPI_COMM_SELF : MPI_COMM_NULL);
}

/* Lengths of arrays -------------------------------------------------------------------------------------- */

int pse_toolstack_peers(MPI_Comm comm)
{
    int inter = 0, size = 0;
    PSE_MPI(Comm_test_inter)(comm, &inter);
    if (inter)
        PSE_MPI(Comm_remote_size)(comm, &size);
    else
        PSE_MPI(Comm_size)(comm, &size);
    return size;
}

int pse_toolstack_members(MPI_Comm comm)
{
    int size = 0;
    PSE_MPI(Comm_size)(comm, &size);
    return size;
}

int pse_toolstack_peers_of_root(MPI_Comm comm, int root)
{
    int rank = -1, inter = 0;
    PSE_MPI(Comm_test_inter)(comm, &inter);
    if (!inter)
        PSE_MPI(Comm_rank)(comm, &rank);
    return root == (inter ? MPI_ROOT : rank) ? pse_toolstack_peers(comm) : 0;
}

static void find_degrees(MPI_Comm comm, int *sources, int *destinations)
{
    int kind = MPI_UNDEFINED, rank = 0, weighted = 0;
    *sources = *destinations = 0;
    PSE_MPI(Topo_test)(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        PSE_MPI(Dist_graph_neighbors_count)(comm, sources, destinations, &weighted);
        return;
    }
    if (kind == MPI_CART) {
        PSE_MPI(Cartdim_get)(comm, sources);
        *sources *= 2;
    } else if (kind == MPI_GRAPH) {
        PSE_MPI(Comm_rank)(comm, &rank);
        PSE_MPI(Graph_neighbors_count)(comm, rank, sources);
    }
    *destinations = *sources;
}

int pse_toolstack_sources(MPI_Comm comm)
{
    int sources, destinations;
    find_degrees(comm, &sources, &destinations);
    return sources;
}

int pse_toolstack_destinations(MPI_Comm comm)
{
    int sources, destinations;
    find_degrees(comm, &sources, &destinations);
    return destinations;
}

bool pse_toolstack_type_is_large(pse_function envelope_c, MPI_Datatype datatype)
{
    typedef int envelope(MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *, int *);
    MPI_Count integers, addresses, large = 0, types;
    int combiner;
    return ((envelope *)envelope_c)(datatype, &integers, &addresses, &large, &types, &combiner) !=
               MPI_SUCCESS ||
           large > 0;
}

/* Completion of requests --------------------------------------------------------------------------------- */

/* A request is complete when the call has changed its handle.  Without arrays to free, there is nothing to
 * look at. */
static MPI_Request *handles_before(const MPI_Request *requests, int count)
{
    if (pse_toolstack_narrow_kept() == 0 || count <= 0 || !requests)
        return NULL;
    MPI_Request *before = malloc((size_t)count * sizeof *before);
    return before ? memcpy(before, requests, (size_t)count * sizeof *before) : NULL;
}

static int handles_after(MPI_Request *before, const MPI_Request *requests, int count, int result)
{
    for (int i = 0; before && i < count; i++)
        if (before[i] != requests[i])
            pse_toolstack_narrow_release(PSE_HANDLE(before[i]));
    free(before);
    return result;
}

#define PSE_COMPLETION(routine, parameters, arguments, requests, count)                                      \
    static int complete_##routine parameters                                                                 \
    {                                                                                                        \
        const struct layer_shim *layer = pse_toolstack_shim;                                                 \
        MPI_Request *before = handles_before(requests, count);                                               \
        int result = ((__typeof__(&MPI_##routine))layer->below)arguments;                                    \
        return handles_after(before, requests, count, result);                                               \
    }

PSE_COMPLETION(Wait, (MPI_Request * request, MPI_Status *status), (request, status), request, 1)
PSE_COMPLETION(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status), request,
               1)
PSE_COMPLETION(Request_free, (MPI_Request * request), (request), request, 1)
PSE_COMPLETION(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status),
               (count, requests, index, status), requests, count)
PSE_COMPLETION(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
               (count, requests, index, flag, status), requests, count)
PSE_COMPLETION(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]),
               (count, requests, statuses), requests, count)
PSE_COMPLETION(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
               (count, requests, flag, statuses), requests, count)
PSE_COMPLETION(Waitsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
               (count, requests, done, indices, statuses), requests, count)
PSE_COMPLETION(Testsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
               (count, requests, done, indices, statuses), requests, count)

#define PSE_COMPLETED_BY(routine) {"MPI_" #routine, (pse_function)complete_##routine}

const struct shim_completion pse_toolstack_completions[] = {
    PSE_COMPLETED_BY(Wait),         PSE_COMPLETED_BY(Test),
    PSE_COMPLETED_BY(Request_free), PSE_COMPLETED_BY(Waitany),
    PSE_COMPLETED_BY(Testany),      PSE_COMPLETED_BY(Waitall),
    PSE_COMPLETED_BY(Testall),      PSE_COMPLETED_BY(Waitsome),
    PSE_COMPLETED_BY(Testsome),     {NULL, NULL},
};
