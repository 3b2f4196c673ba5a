/* count: how often each rank calls each routine of MPI.
 *
 * Rank 0 writes a table at MPI_Finalize: a row for each routine that was called, the sum over all ranks, and
 * the ranks' own counts.  Arguments: output (a file; standard error if it isn't given). */
#include "tool.h"
#include "tool_memory.h"

#define TOOL_ENTER(routine) called(NUMBER_##routine);
#define TOOL_LEAVE(routine)

static inline void called(int routine);
static void report(void);

#include "count_wrappers.c"

static uint64_t calls[ROUTINES];

static inline void called(int routine)
{
    __atomic_fetch_add(&calls[routine], 1, __ATOMIC_RELAXED);
}

/* Ranks that get a column each; of more, the least and the greatest count are written. */
#define COLUMNS 16

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *table)
{
    pse_tool_stack = table;
    pse_tool_expect_output();
    return 0;
}

static void write_ranks(FILE *file, const uint64_t *counts, int size)
{
    if (size <= COLUMNS) {
        for (int rank = 0; rank < size; rank++)
            fprintf(file, " %11" PRIu64, counts[(size_t)rank * ROUTINES]);
        return;
    }
    uint64_t least = UINT64_MAX, greatest = 0;
    for (int rank = 0; rank < size; rank++) {
        uint64_t count = counts[(size_t)rank * ROUTINES];
        least = count < least ? count : least;
        greatest = count > greatest ? count : greatest;
    }
    fprintf(file, " %11" PRIu64 " %11" PRIu64, least, greatest);
}

static void write_head(FILE *file, int size)
{
    char title[16];
    fprintf(file, "%-32s %11s", "routine", "all ranks");
    for (int rank = 0; size <= COLUMNS && rank < size; rank++) {
        snprintf(title, sizeof title, "rank %d", rank);
        fprintf(file, " %11s", title);
    }
    if (size > COLUMNS)
        fprintf(file, " %11s %11s", "least", "greatest");
    fputc('\n', file);
}

/* `counts` has ROUTINES numbers of each rank. */
static void write_table(const uint64_t *counts, int size)
{
    FILE *file = pse_tool_open_output(0);
    write_head(file, size);
    for (int routine = 0; routine < ROUTINES; routine++) {
        uint64_t sum = 0;
        for (int rank = 0; rank < size; rank++)
            sum += counts[(size_t)rank * ROUTINES + routine];
        if (!sum)
            continue;
        fprintf(file, "%-32s %11" PRIu64, routine_names[routine], sum);
        write_ranks(file, counts + routine, size);
        fputc('\n', file);
    }
    pse_tool_close_output(file);
}

static void report(void)
{
    int rank, size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    uint64_t *counts = rank == 0 ? pse_tool_memory((size_t)size * sizeof calls) : NULL;
    PMPI_Gather(calls, ROUTINES, MPI_UINT64_T, counts, ROUTINES, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0)
        write_table(counts, size);
    free(counts);
}
