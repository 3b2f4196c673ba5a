/* Calls every kind of blocking MPI routine, in an order and with sizes that follow from a seed, and prints on
 * each rank a digest of all that came out: data, statuses, error classes, calls of error handlers.  No digest
 * may depend on how MPI waits.  Usage: calls SEED ROUNDS */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 600 };

static int rank, size, right, left, turn;
static uint64_t seed, digest = 1469598103934665603u;
static MPI_Comm world, cart, half, between; /* between: the two halves' intercommunicator, if there are two */
static int handled;

/* The same numbers on every rank. */
static int chance(int below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)below);
}

static void add(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    while (bytes--)
        digest = (digest ^ *byte++) * 1099511628211u;
}

static void add_int(int value)
{
    add(&value, sizeof value);
}

static void add_status(MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    add_int(status->MPI_SOURCE), add_int(status->MPI_TAG), add_int(count);
}

static void add_error(int error)
{
    int class;
    MPI_Error_class(error, &class);
    add_int(class);
}

static int *numbers(int count)
{
    static int pool[64][MOST * 16];
    static int next;
    int *taken = pool[next++ % 64];
    for (int i = 0; i < count; i++)
        taken[i] = rank * 1000 + i * i;
    return taken;
}

static void ring(void)
{
    int count = 1 + chance(MOST), tag = chance(100), *out = numbers(count), *in = numbers(count);
    MPI_Status status;
    MPI_Sendrecv(out, count, MPI_INT, right, tag, in, count, MPI_INT, left, tag, world, &status);
    add(in, count * sizeof *in), add_status(&status);
    MPI_Sendrecv_replace(in, count, MPI_INT, right, tag, left, tag, world, &status);
    add(in, count * sizeof *in), add_status(&status);
    MPI_Sendrecv(out, count, MPI_INT, MPI_PROC_NULL, 1, in, count, MPI_INT, MPI_PROC_NULL, 1, world, &status);
    add_status(&status);
}

static void one_way(void)
{
    int from = chance(size), to = chance(size), count = chance(MOST), kind = chance(3), *data = numbers(MOST);
    int tag = 100 + turn; /* so that no later message is probed */
    MPI_Status status;
    if (from == to)
        return;
    if (rank == from && kind == 0)
        MPI_Send(data, count, MPI_INT, to, tag, world);
    if (rank == from && kind == 1)
        MPI_Ssend(data, count, MPI_INT, to, tag, world);
    if (rank == from && kind == 2)
        MPI_Recv(data, 0, MPI_INT, to, 6, world, &status), MPI_Rsend(data, count, MPI_INT, to, tag, world);
    if (rank != to)
        return;
    if (kind == 2) {
        MPI_Request request;
        MPI_Irecv(data, MOST, MPI_INT, from, tag, world, &request);
        MPI_Send(data, 0, MPI_INT, from, 6, world);
        MPI_Wait(&request, &status);
    } else {
        MPI_Probe(MPI_ANY_SOURCE, tag, world, &status);
        add_status(&status);
        MPI_Recv(data, MOST, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, world, &status);
    }
    add(data, count * sizeof *data), add_status(&status);
}

static void matched(void)
{
    int count = chance(MOST), *data = numbers(MOST), *in = numbers(MOST);
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    MPI_Isend(data, count, MPI_INT, right, 9, world, &request);
    MPI_Mprobe(left, MPI_ANY_TAG, world, &message, &status);
    add_status(&status);
    MPI_Mrecv(in, MOST, MPI_INT, &message, &status);
    add(in, count * sizeof *in), add_status(&status), add_int(message == MPI_MESSAGE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add_int(request == MPI_REQUEST_NULL);
}

static void many(void)
{
    enum { N = 6 };
    int how = chance(3), *out = numbers(N), *in = numbers(N), index, done = 0, indices[2 * N + 1];
    MPI_Request requests[2 * N + 1];
    MPI_Status statuses[2 * N + 1], status;
    for (int i = 0; i < N; i++) {
        MPI_Irecv(in + i, 1, MPI_INT, left, 20 + i, world, &requests[i]);
        MPI_Isend(out + i, 1, MPI_INT, right, 20 + i, world, &requests[N + i]);
    }
    requests[2 * N] = MPI_REQUEST_NULL;
    if (how == 0) {
        MPI_Waitall(2 * N + 1, requests, statuses);
        for (int i = 0; i < N; i++)
            add_status(&statuses[i]);
        add_status(&statuses[2 * N]);
    }
    for (int i = 0; how == 1 && i < 2 * N; i++) {
        MPI_Waitany(2 * N + 1, requests, &index, &status);
        done += index;
    }
    for (int some = 0; how == 2 && done < 2 * N; done += some)
        MPI_Waitsome(2 * N + 1, requests, &some, indices, statuses);
    add(in, N * sizeof *in), add_int(done);
    MPI_Waitany(2 * N + 1, requests, &index, &status);
    add_int(index), add_status(&status);
    MPI_Waitsome(2 * N + 1, requests, &index, indices, MPI_STATUSES_IGNORE);
    add_int(index);
}

static void persistent(void)
{
    int *out = numbers(3), *in = numbers(3);
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Send_init(out, 3, MPI_INT, right, 7, world, &requests[0]);
    MPI_Recv_init(in, 3, MPI_INT, left, 7, world, &requests[1]);
    MPI_Wait(&requests[1], &status); /* not active: an empty status at once */
    add_status(&status);
    for (int start = 0; start < 3; start++) {
        out[0] = start;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        add(in, 3 * sizeof *in), add_int(requests[0] != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&requests[0]), MPI_Request_free(&requests[1]);
}

/* Not commutative: 2 × 2 matrices modulo a prime. */
static void product(void *left_operand, void *right_operand, int *count, MPI_Datatype *type)
{
    int *a = left_operand, *b = right_operand, c[4];
    (void)type;
    for (int i = 0; i < *count; i++, a += 4, b += 4) {
        for (int k = 0; k < 4; k++)
            c[k] =
                (int)(((int64_t)a[k / 2 * 2] * b[k % 2] + (int64_t)a[k / 2 * 2 + 1] * b[2 + k % 2]) % 10007);
        memcpy(b, c, sizeof c);
    }
}

static void reductions(void)
{
    int count = 1 + chance(20), root = chance(size), *in = numbers(MOST), *out = numbers(MOST), counts[64];
    MPI_Datatype matrix;
    MPI_Op times;
    MPI_Type_contiguous(4, MPI_INT, &matrix), MPI_Type_commit(&matrix);
    MPI_Op_create(product, 0, &times);
    MPI_Allreduce(in, out, count, matrix, times, world), add(out, 4 * count * sizeof *out);
    MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_INT, MPI_MAX, world), add(in, count * sizeof *in);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : out, out, count, matrix, times, root, world);
    add(rank == root ? out : in, count * sizeof *out);
    in = numbers(MOST);
    MPI_Scan(in, out, count, matrix, times, world), add(out, 4 * count * sizeof *out);
    memset(out, 0, 4 * count * sizeof *out);
    MPI_Exscan(in, out, count, matrix, times, world), add(out, 4 * count * sizeof *out);
    MPI_Reduce_scatter_block(in, out, 2, MPI_INT, MPI_SUM, world), add(out, 2 * sizeof *out);
    for (int i = 0; i < size; i++)
        counts[i] = i;
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, world), add(out, rank * sizeof *out);
    MPI_Op_free(&times), MPI_Type_free(&matrix);
}

/* Many small ones: on a communicator of its own, on its copy, and with the halves' own numbers of calls. */
static void small_reductions(void)
{
    MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD, MPI_LAND, MPI_LOR, MPI_BXOR};
    MPI_Comm copy;
    MPI_Comm_dup(world, &copy);
    for (int i = 0; i < 40; i++) {
        int count = chance(10), in[10], out[10] = {0};
        double real = rank + 0.5, sum;
        for (int k = 0; k < 10; k++)
            in[k] = rank + chance(3);
        MPI_Allreduce(in, out, count, MPI_INT, ops[chance(7)], copy), add(out, sizeof out);
        MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_INT, ops[chance(7)], i % 2 ? copy : half),
            add(in, sizeof in);
        MPI_Allreduce(&real, &sum, 1, MPI_DOUBLE, MPI_SUM, copy), add(&sum, sizeof sum);
    }
    MPI_Comm_free(&copy);
}

static void spreading(void)
{
    int count = 1 + chance(10), root = chance(size), *in = numbers(MOST), *out = numbers(MOST);
    int counts[64], places[64], bytes[64];
    MPI_Datatype types[64];
    for (int i = 0; i < size; i++)
        counts[i] = i + 1, places[i] = i * 8, bytes[i] = places[i] * (int)sizeof *in, types[i] = MPI_INT;
    int all = 8 * size * (int)sizeof *out;
    MPI_Barrier(world);
    MPI_Bcast(in, count, MPI_INT, root, world), add(in, count * sizeof *in);
    in = numbers(MOST), memset(out, 0, all);
    MPI_Gather(in, 8, MPI_INT, out, 8, MPI_INT, root, world), add(out, all);
    MPI_Scatter(in, 8, MPI_INT, rank == root ? MPI_IN_PLACE : out, 8, MPI_INT, root, world), add(out, all);
    MPI_Gatherv(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, root, world), add(out, all);
    MPI_Scatterv(in, counts, places, MPI_INT, out, rank + 1, MPI_INT, root, world), add(out, all);
    MPI_Allgather(in, 8, MPI_INT, out, 8, MPI_INT, world), add(out, all);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 8, MPI_INT, world), add(out, all);
    MPI_Allgatherv(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, world), add(out, all);
    MPI_Alltoall(in, 8, MPI_INT, out, 8, MPI_INT, world), add(out, all);
    for (int i = 0; i < size; i++)
        counts[i] = 3;
    MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, world), add(out, all);
    MPI_Alltoallw(in, counts, bytes, types, out, counts, bytes, types, world), add(out, all);
}

static void neighbours(void)
{
    int *in = numbers(MOST), *out = numbers(8), counts[2] = {2, 2}, places[2] = {0, 4};
    MPI_Aint bytes[2] = {0, 16};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    size_t all = 8 * sizeof *out;
    MPI_Neighbor_allgather(in, 2, MPI_INT, out, 2, MPI_INT, cart), add(out, all);
    MPI_Neighbor_allgatherv(in, 2, MPI_INT, out, counts, places, MPI_INT, cart), add(out, all);
    MPI_Neighbor_alltoall(in, 2, MPI_INT, out, 2, MPI_INT, cart), add(out, all);
    MPI_Neighbor_alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, cart), add(out, all);
    MPI_Neighbor_alltoallw(in, counts, bytes, types, out, counts, bytes, types, cart), add(out, all);
}

static int copied;

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    copied++, *(void **)out = in, *flag = 1;
    return MPI_SUCCESS;
}

static void communicators(void)
{
    int key, topology, flag;
    MPI_Comm copy, part;
    void *value;
    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(cart, key, &copied);
    MPI_Comm_dup(cart, &copy);
    MPI_Topo_test(copy, &topology), MPI_Comm_get_attr(copy, key, &value, &flag);
    add_int(topology), add_int(flag), add_int(copied);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy), MPI_Comm_delete_attr(cart, key), MPI_Comm_free_keyval(&key);
    MPI_Comm_split(world, rank % 2 ? MPI_UNDEFINED : 1, -rank, &part);
    if (part != MPI_COMM_NULL)
        MPI_Comm_rank(part, &key), add_int(key), MPI_Comm_free(&part);
}

static void halves(void)
{
    int in = rank + 1, out = 0, all[64] = {0}, members, root;
    if (between == MPI_COMM_NULL)
        return;
    MPI_Comm merged, copy;
    MPI_Comm_remote_size(between, &members);
    MPI_Barrier(between);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, between), add_int(out);
    MPI_Allgather(&in, 1, MPI_INT, all, 1, MPI_INT, between), add(all, members * sizeof *all);
    MPI_Comm_rank(half, &root);
    out = rank;
    MPI_Bcast(&out, 1, MPI_INT, rank % 2 ? 0 : root ? MPI_PROC_NULL : MPI_ROOT, between), add_int(out);
    MPI_Comm_dup(between, &copy), MPI_Barrier(copy), MPI_Comm_free(&copy);
    MPI_Intercomm_merge(between, rank % 2, &merged);
    MPI_Comm_rank(merged, &out), add_int(out);
    MPI_Comm_free(&merged);
}

/* MPICH 4.0 loses what was put, now and then. */
static void add_put(int value)
{
#if !defined MPICH_NUMVERSION || MPICH_NUMVERSION >= 40100000
    add_int(value);
#else
    (void)value;
#endif
}

static void windows(void)
{
    int *memory, value = rank;
    MPI_Win win;
    MPI_Group all, one;
    MPI_Win_allocate(size * sizeof *memory, sizeof *memory, MPI_INFO_NULL, world, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, right, rank, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    add_put(memory[left]);
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &left, &one), MPI_Win_post(one, 0, win), MPI_Group_free(&one);
    MPI_Group_incl(all, 1, &right, &one), MPI_Win_start(one, 0, win), MPI_Group_free(&one);
    value += 100;
    MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_complete(win), MPI_Win_wait(win);
    add_put(memory[0]);
    MPI_Group_free(&all), MPI_Win_free(&win);
    add_int(win == MPI_WIN_NULL);
}

static void buffered(void)
{
    static char buffer[1 << 16];
    char *back;
    int count = 1 + chance(MOST), *out = numbers(count), *in = numbers(count), bytes;
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend(out, count, MPI_INT, right, 3, world);
    MPI_Recv(in, count, MPI_INT, left, 3, world, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&back, &bytes);
    add(in, count * sizeof *in), add_int(back == buffer), add_int(bytes);
}

static void handler(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    handled++;
    add_error(*error);
}

/* Which communicator an error of a request belongs to differs between MPI libraries and calls. */
static void handle_errors(MPI_Errhandler own)
{
    MPI_Comm_set_errhandler(world, own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);
}

/* Open MPI's MPI_Waitall says nothing of a message that is too long. */
static void truncate_in_waitall(int *out, int *in)
{
#ifndef OPEN_MPI
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(in, 1, MPI_INT, left, 2, world, &requests[0]);
    MPI_Isend(out, 4, MPI_INT, right, 2, world, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    add_error(MPI_Waitall(2, requests, statuses)), add_error(statuses[0].MPI_ERROR);
#else
    (void)out, (void)in;
#endif
}

static void errors(void)
{
    int out[4] = {1, 2, 3, 4}, in[4];
    MPI_Request request;
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handler, &own);
    handle_errors(chance(2) ? own : MPI_ERRORS_RETURN);
    MPI_Isend(out, 4, MPI_INT, right, 1, world, &request);
    add_error(MPI_Recv(in, 1, MPI_INT, left, 1, world, MPI_STATUS_IGNORE)); /* too long */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    truncate_in_waitall(out, in);
    add_error(MPI_Send(out, 1, MPI_INT, size + 5, 1, world));
    add_error(MPI_Recv(in, -1, MPI_INT, left, 1, world, MPI_STATUS_IGNORE));
    add_error(MPI_Sendrecv(out, 1, MPI_INT, size + 5, 1, in, 1, MPI_INT, left, 1, world, MPI_STATUS_IGNORE));
    add_error(MPI_Bcast(in, 1, MPI_INT, size + 5, world));
    add_error(MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, world));
    add_int(handled);
    handle_errors(MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&own);
}

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 3), MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 77, status->MPI_TAG = 78;
    return MPI_SUCCESS;
}

static int freed(void *extra)
{
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static int cancelled(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void generalised(void)
{
    int frees = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Grequest_start(query, freed, cancelled, &frees, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    add_status(&status), add_int(frees);
}

static void prepare(void)
{
    int periodic = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Cart_create(world, 1, &size, &periodic, 0, &cart);
    MPI_Comm_split(world, rank % 2, rank, &half);
    between = MPI_COMM_NULL;
    if (size > 1)
        MPI_Intercomm_create(half, 0, world, rank % 2 ? 0 : 1, 1, &between);
}

int main(int argc, char **argv)
{
    static void (*const kinds[])(void) = {ring,       one_way,   matched,    many,          persistent,
                                          reductions, spreading, neighbours, communicators, halves,
                                          windows,    buffered,  errors,     generalised,   small_reductions};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    MPI_Init(&argc, &argv);
    prepare();
    seed = strtoull(argv[1], NULL, 10);
    for (turn = 0; turn < atoi(argv[2]); turn++)
        kinds[turn < KINDS ? turn : chance(KINDS)]();
    uint64_t all[64];
    MPI_Gather(&digest, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, world);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("%d %016llx\n", i, (unsigned long long)all[i]);
    MPI_Comm_free(&cart), MPI_Comm_free(&half), MPI_Comm_free(&world);
    if (between != MPI_COMM_NULL)
        MPI_Comm_free(&between);
    MPI_Finalize();
    return 0;
}
