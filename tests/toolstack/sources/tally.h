/* What the tools of the tests have in common: counts by name, written to a file at MPI_Finalize.
 *
 * These tools know mpi.h and nothing of the tool stack.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef TALLY_NAME
#define TALLY_NAME "tally"
#endif

enum { SEND, RECV, ALLREDUCE, BARRIER, BCAST, KINDS };
static const char *const tally_names[KINDS] = {"send", "recv", "allreduce", "barrier", "bcast"};
static long tally_count[KINDS], tally_bytes[KINDS];

static void tally_write(int rank)
{
    char path[4096];
    const char *directory = getenv("TALLY_DIRECTORY");
    snprintf(path, sizeof path, "%s/" TALLY_NAME "-%d", directory ? directory : ".", rank);
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < KINDS; i++)
        fprintf(file, "%s %ld %ld\n", tally_names[i], tally_count[i], tally_bytes[i]);
    if (file)
        fclose(file);
}
