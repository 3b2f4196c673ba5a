/* The shims of one mpi.h without MPI: routines of the library are the few below, layers are the test's own
 * functions. */
#include <mpi.h>
#include <stdlib.h>

#include "calls/large_counts.h"
#include "mpi/routine_table.h"
#include "shims.h"

static int inter, size = 3, rank;

PSE_EXPORT int set_group(int is_inter, int processes, int own)
{
    inter = is_inter;
    size = processes;
    rank = own;
    return 0;
}

static int test_inter(void *comm, int *flag)
{
    (void)comm;
    *flag = inter;
    return 0;
}

static int comm_size(void *comm, int *count)
{
    (void)comm;
    *count = size;
    return 0;
}

static int comm_rank(void *comm, int *own)
{
    (void)comm;
    *own = rank;
    return 0;
}

static int topology(void *comm, int *kind)
{
    (void)comm;
    *kind = MPI_DIST_GRAPH;
    return 0;
}

static int neighbours(void *comm, int *sources, int *destinations, int *weighted)
{
    (void)comm;
    *sources = *destinations = size;
    *weighted = 0;
    return 0;
}

static const struct {
    const char *name;
    pse_function function;
} library[] = {
    {"MPI_Comm_test_inter", (pse_function)test_inter},
    {"MPI_Comm_size", (pse_function)comm_size},
    {"MPI_Comm_remote_size", (pse_function)comm_size},
    {"MPI_Comm_rank", (pse_function)comm_rank},
    {"MPI_Topo_test", (pse_function)topology},
    {"MPI_Dist_graph_neighbors_count", (pse_function)neighbours},
};

pse_function pse_toolstack_library_function(const char *routine)
{
    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
        if (strcmp(library[i].name, routine) == 0)
            return library[i].function;
    return NULL;
}

const int pse_toolstack_stub_at[1];

/* One layer that knows `upper` of X only, above `below` for X_c; gives what X_c is in the layer. */
PSE_EXPORT pse_function layer_of(const char *small, const char *large, pse_function upper, pse_function below)
{
    pse_function *entry = calloc((size_t)pse_toolstack_routine_count, sizeof *entry),
                 *under = calloc((size_t)pse_toolstack_routine_count, sizeof *under);
    bool lasting = false;
    entry[pse_toolstack_find(large)] = under[pse_toolstack_find(large)] = below;
    entry[pse_toolstack_find(small)] = upper;
    pse_toolstack_add_shims(entry, under, &lasting);
    if (lasting)
        pse_toolstack_watch_completions(entry);
    const pse_function made = entry[pse_toolstack_find(large)];
    free(entry);
    free(under);
    return made;
}

/* A routine that completes requests, as layers with lasting arrays have it. */
PSE_EXPORT pse_function watched(const char *name, pse_function own)
{
    pse_function *entry = calloc((size_t)pse_toolstack_routine_count, sizeof *entry);
    entry[pse_toolstack_find(name)] = own;
    pse_toolstack_watch_completions(entry);
    const pse_function made = entry[pse_toolstack_find(name)];
    free(entry);
    return made;
}

PSE_EXPORT int kept_arrays(void)
{
    return pse_toolstack_narrow_kept();
}
