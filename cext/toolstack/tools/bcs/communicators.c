/* Communicators, their ranks in the layer, and their contexts. */
#include "communicators.h"

#include <stdbool.h>

#include "layer.h"

static struct pse_handle_table table;
static uint64_t next_context;

struct pse_bcs_comm *pse_bcs_comm_of(MPI_Comm comm)
{
    return pse_bcs_layer ? pse_handle_find(&table, (uintptr_t)comm) : NULL;
}

/* The layer's ranks of a communicator; NULL if it has others. */
static int *ranks_in_world(MPI_Comm comm, int size)
{
    int *own = pse_bcs_memory((size_t)size * sizeof *own),
        *world = pse_bcs_memory((size_t)size * sizeof *world);
    MPI_Group group, all;
    for (int i = 0; i < size; i++)
        own[i] = i;
    PMPI_Comm_group(comm, &group), PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Group_translate_ranks(group, size, own, all, world);
    PMPI_Group_free(&group), PMPI_Group_free(&all);
    free(own);
    for (int i = 0; i < size; i++)
        if (world[i] == MPI_UNDEFINED) {
            free(world);
            return NULL;
        }
    return world;
}

static int *inverse(const int *world, int size)
{
    int all;
    PMPI_Comm_size(MPI_COMM_WORLD, &all);
    int *ranks = pse_bcs_memory((size_t)all * sizeof *ranks);
    for (int i = 0; i < all; i++)
        ranks[i] = MPI_UNDEFINED;
    for (int i = 0; i < size; i++)
        ranks[world[i]] = i;
    return ranks;
}

static void add(MPI_Comm handle)
{
    int size;
    PMPI_Comm_size(handle, &size);
    int *world = ranks_in_world(handle, size);
    if (!world)
        return;
    struct pse_bcs_comm *comm = pse_bcs_memory(sizeof *comm);
    *comm = (struct pse_bcs_comm){.handle = handle,
                                  .context = next_context,
                                  .size = size,
                                  .world = world,
                                  .ranks = inverse(world, size),
                                  .references = 1};
    PMPI_Comm_rank(handle, &comm->rank);
    pse_handle_add(&table, (uintptr_t)handle, comm);
}

void pse_bcs_know(MPI_Comm comm)
{
    int two_groups;
    if (!pse_bcs_layer || comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &two_groups) || two_groups)
        return;
    /* No rank of it has used this number, or a later one, for another communicator. */
    PMPI_Allreduce(MPI_IN_PLACE, &next_context, 1, MPI_UINT64_T, MPI_MAX, comm);
    add(comm);
    next_context += 2;
}

void pse_bcs_comm_release(struct pse_bcs_comm *comm)
{
    if (--comm->references)
        return;
    free(comm->world), free(comm->ranks), free(comm);
}

void pse_bcs_forget(MPI_Comm comm)
{
    struct pse_bcs_comm *known = pse_handle_take(&table, (uintptr_t)comm);
    if (known)
        pse_bcs_comm_release(known);
}
