/* The link between Trace and Partrace: velocities go from all of Trace's processors to all of Partrace's,
 * each of which gets a share of the planes. Nothing goes the other way.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shares.h"

enum { NO_MEMORY = 1 };
enum { EVEN_CYCLE, ODD_CYCLE, READY };

static MPI_Comm both = MPI_COMM_NULL; /* All processors of Trace and Partrace. */
static int rank, size;
static int64_t *planes_before; /* For each processor, and one more: how many planes those before it have. */
static int *readers;           /* Partrace's processors. */
static int reader_count;

/* Version 3: messages on their way, and where they lie until then; those of even and odd cycles in turn. */
typedef struct {
    double *buffer;
    MPI_Request *request;
    int count;
} Transfer;

static Transfer leaving[2], coming[2];

const char *coven_error(int code)
{
    return code == NO_MEMORY ? "there is no memory for velocities on their way" : NULL;
}

/* Find out who has planes and who has particles. */
//@ coven module join_link(in f64 head[m, ny, nz], in f64 position[n, 3], in comm c) collective
int join_link(const double *head, const double *position, MPI_Comm c, int64_t m, int64_t ny, int64_t nz,
              int64_t n)
{
    (void)head, (void)position, (void)ny, (void)nz;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_split(c, m > 0 || n > 0 ? 0 : MPI_UNDEFINED, rank, &both);
    if (both == MPI_COMM_NULL)
        return 0;
    MPI_Comm_rank(both, &rank);
    MPI_Comm_size(both, &size);
    planes_before = calloc((size_t)size + 1, sizeof *planes_before);
    readers = calloc((size_t)size, sizeof *readers);
    if (!planes_before || !readers)
        return NO_MEMORY;
    int reads = n > 0;
    MPI_Allgather(&m, 1, MPI_INT64_T, planes_before + 1, 1, MPI_INT64_T, both);
    MPI_Allgather(&reads, 1, MPI_INT, readers, 1, MPI_INT, both);
    for (int r = 0; r < size; r++) {
        planes_before[r + 1] += planes_before[r];
        if (readers[r])
            readers[reader_count++] = r;
    }
    return 0;
}

/* The planes that processor `writer` sends to the reader with the number `reader`: how many, and the first.
 */
static int64_t common_planes(int writer, int reader, int64_t *begin)
{
    int64_t all = planes_before[size];
    int64_t end = share_begin(all, reader_count, reader + 1);
    *begin = share_begin(all, reader_count, reader);
    if (*begin < planes_before[writer])
        *begin = planes_before[writer];
    if (end > planes_before[writer + 1])
        end = planes_before[writer + 1];
    return end > *begin ? end - *begin : 0;
}

static int cycle_tag(int64_t cycle)
{
    return cycle % 2 == 0 ? EVEN_CYCLE : ODD_CYCLE;
}

/* Get a transfer ready for as many messages and numbers; what it did before must be complete. */
static int prepare(Transfer *t, int64_t messages, int64_t numbers)
{
    MPI_Waitall(t->count, t->request, MPI_STATUSES_IGNORE);
    t->count = 0;
    if (t->buffer == NULL) {
        t->buffer = malloc((size_t)numbers * sizeof *t->buffer);
        t->request = malloc((size_t)messages * sizeof(MPI_Request));
    }
    return t->buffer && t->request ? 0 : NO_MEMORY;
}

/* Trace: send the velocities of a cycle. Versions 1 and 2 meet Partrace at a barrier; version 3 sends a copy
 * and continues, and so does a processor that sends to itself. */
//@ coven module print_to_link(in f64 velocity[m, ny, nz, 3], in i64 cycle, in bool asynchronous)
int print_to_link(const double *velocity, int64_t cycle, _Bool asynchronous, int64_t m, int64_t ny,
                  int64_t nz)
{
    if (m == 0)
        return 0;
    int64_t begin, plane = ny * nz * 3;
    int tag = cycle_tag(cycle);
    Transfer *t = &leaving[cycle % 2];
    if (!asynchronous)
        MPI_Barrier(both);
    if (prepare(t, reader_count, m * plane) != 0)
        return NO_MEMORY;
    for (int reader = 0; reader < reader_count; reader++) {
        int64_t planes = common_planes(rank, reader, &begin);
        int64_t place = (begin - planes_before[rank]) * plane;
        int numbers = (int)(planes * plane), to = readers[reader];
        if (planes == 0)
            continue;
        if (asynchronous || to == rank) {
            memcpy(t->buffer + place, velocity + place, (size_t)numbers * sizeof *velocity);
            MPI_Isend(t->buffer + place, numbers, MPI_DOUBLE, to, tag, both, &t->request[t->count++]);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, to, READY, both, MPI_STATUS_IGNORE);
            MPI_Send(velocity + place, numbers, MPI_DOUBLE, to, tag, both);
        }
    }
    return 0;
}

/* Which reader we are; -1 for none. */
static int own_reader(void)
{
    for (int reader = 0; both != MPI_COMM_NULL && reader < reader_count; reader++)
        if (readers[reader] == rank)
            return reader;
    return -1;
}

/* Post receives for our share of a cycle's velocities, which lies in `share`. */
static void post_receives(Transfer *t, double *share, int64_t cycle, int64_t plane)
{
    int reader = own_reader(), tag = cycle_tag(cycle);
    int64_t begin, first = share_begin(planes_before[size], reader_count, reader);
    for (int writer = 0; writer < size; writer++) {
        int64_t planes = common_planes(writer, reader, &begin);
        if (planes > 0)
            MPI_Irecv(share + (begin - first) * plane, (int)(planes * plane), MPI_DOUBLE, writer, tag, both,
                      &t->request[t->count++]);
    }
}

/* Versions 1 and 2: meet Trace at the barrier, then ask one processor after the other for its planes. */
static void read_at_barrier(double *field, int64_t cycle, int64_t plane)
{
    int reader = own_reader(), tag = cycle_tag(cycle);
    int64_t begin;
    MPI_Barrier(both);
    for (int writer = 0; writer < size; writer++) {
        int64_t planes = common_planes(writer, reader, &begin);
        if (planes == 0)
            continue;
        if (writer != rank)
            MPI_Send(NULL, 0, MPI_BYTE, writer, READY, both);
        MPI_Recv(field + begin * plane, (int)(planes * plane), MPI_DOUBLE, writer, tag, both,
                 MPI_STATUS_IGNORE);
    }
}

/* Partrace: get our share of a cycle's velocities into its place in the field. In version 3 the receives of
 * the next cycle are posted before particles move, so that they arrive meanwhile. */
//@ coven module read_fields(inout f64 field[nx, ny, nz, 3], in i64 cycle, in i64 cycles, in bool asynchronous)
int read_fields(double *field, int64_t cycle, int64_t cycles, _Bool asynchronous, int64_t nx, int64_t ny,
                int64_t nz)
{
    int reader = own_reader();
    int64_t plane = ny * nz * 3;
    if (reader < 0)
        return 0;
    if (!asynchronous) {
        read_at_barrier(field, cycle, plane);
        return 0;
    }
    int64_t first = share_begin(nx, reader_count, reader);
    int64_t numbers = (share_begin(nx, reader_count, reader + 1) - first) * plane;
    static _Bool has_begun; /* A run that goes on from a checkpoint has posted nothing. */
    for (int64_t ahead = has_begun; ahead <= 1 && cycle + ahead < cycles; ahead++) {
        Transfer *t = &coming[(cycle + ahead) % 2];
        if (prepare(t, size, numbers) != 0)
            return NO_MEMORY;
        post_receives(t, t->buffer, cycle + ahead, plane);
    }
    has_begun = 1;
    Transfer *t = &coming[cycle % 2];
    MPI_Waitall(t->count, t->request, MPI_STATUSES_IGNORE);
    t->count = 0;
    memcpy(field + first * plane, t->buffer, (size_t)numbers * sizeof *field);
    return 0;
}
