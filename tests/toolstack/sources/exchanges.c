/* Messages in all the ways there are, to partners and of lengths by chance; each is checked as it comes.
 *
 * Tag 1000 is sent, but never received as a whole; communicator `quiet` carries nothing of tools.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* MPICH 4.0 frees derived datatypes of MPI_Isendrecv, tells MPI_COMM_SELF of errors of requests, and
 * complains at its end of receives of derived datatypes that were cancelled ("yaksa: leaked handle pool
 * objects"). */
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000 && !defined I_MPI_VERSION
#define IS_MPICH_4_0 1
#else
#define IS_MPICH_4_0 0
#endif

enum { LONGEST = 60, KINDS = 16, STEPS = 3 * KINDS };

static int rank, size, step, to, from, length;
static int out[2 * LONGEST], in[LONGEST];
static MPI_Comm comm;
static MPI_Status status, both[2];
static MPI_Request request[2];

#define CHECK(what)                                                                                          \
    if (!(what))                                                                                             \
    fprintf(stderr, "rank %d, step %d, line %d: not " #what "\n", rank, step, __LINE__)
#define SEND out, length, MPI_INT, to, step, comm
#define RECEIVE in, LONGEST, MPI_INT

static void check_data(void)
{
    for (int i = 0; i < length; i++)
        CHECK(in[i] == 1000 * from + 10 * step + i);
    for (int i = length; i < LONGEST; i++)
        CHECK(in[i] == -1);
}

static void check(const MPI_Status *got)
{
    int count;
    MPI_Get_count(got, MPI_INT, &count);
    CHECK(count == length);
    CHECK(got->MPI_SOURCE == from && got->MPI_TAG == step);
    check_data();
}

static void fill(void)
{
    for (int i = 0; i < LONGEST; i++) {
        out[i] = 1000 * rank + 10 * step + i;
        in[i] = -1;
    }
}

static void requests(int kind)
{
    int index, flag, done, indices[2];
    MPI_Irecv(RECEIVE, MPI_ANY_SOURCE, step, comm, &request[0]);
    MPI_Isend(SEND, &request[1]);
    if (kind == 0) {
        MPI_Waitall(2, request, both);
        check(&both[0]);
    } else if (kind == 1) {
        for (int i = 0; i < 2; i++) {
            MPI_Waitany(2, request, &index, &status);
            if (index == 0)
                check(&status);
        }
    } else if (kind == 2) {
        for (int sum = 0; sum < 2; sum += done) {
            MPI_Waitsome(2, request, &done, indices, both);
            for (int i = 0; i < done; i++)
                if (indices[i] == 0)
                    check(&both[i]);
        }
    } else {
        do
            MPI_Request_get_status(request[0], &flag, &status);
        while (!flag);
        check(&status);
        do
            MPI_Test(&request[0], &flag, &status);
        while (!flag);
        check(&status);
        do
            MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE);
        while (!flag);
    }
}

static void probes(int matched)
{
    int count;
    MPI_Message message;
    MPI_Isend(SEND, &request[1]);
    if (matched)
        MPI_Mprobe(MPI_ANY_SOURCE, step, comm, &message, &status);
    else
        MPI_Probe(MPI_ANY_SOURCE, step, comm, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == length);
    if (matched) {
        MPI_Imrecv(in, count, MPI_INT, &message, &request[0]);
        MPI_Waitall(2, request, both);
        check(&both[0]);
    } else {
        MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, comm, &status);
        check(&status);
        MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    }
}

static void persistent(void)
{
    MPI_Send_init(SEND, &request[0]);
    MPI_Recv_init(RECEIVE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request[1]);
    for (int i = 0; i < 3; i++) {
        fill();
        MPI_Startall(2, request);
        MPI_Waitall(2, request, both);
        check(&both[1]);
        MPI_Barrier(comm);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

static void buffered(void)
{
    int bytes, given;
    void *buffer, *back;
    MPI_Pack_size(length, MPI_INT, comm, &bytes);
    buffer = malloc(bytes += MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(buffer, bytes);
    MPI_Bsend(SEND);
    MPI_Recv(RECEIVE, MPI_ANY_SOURCE, step, comm, &status);
    check(&status);
    MPI_Buffer_detach(&back, &given);
    CHECK(back == buffer && given == bytes);
    free(buffer);
}

static void strided(void)
{
    MPI_Datatype every;
    MPI_Type_vector(length, 1, 2, MPI_INT, &every);
    MPI_Type_commit(&every);
    for (int i = LONGEST - 1; i >= 0; i--)
        out[2 * i] = out[i];
    MPI_Isend(out, 1, every, to, step, comm, &request[0]);
    MPI_Type_free(&every);
    MPI_Recv(RECEIVE, from, step, comm, &status);
    check(&status);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
}

static void nothing_comes(void)
{
    int flag;
#if !IS_MPICH_4_0
    MPI_Irecv(RECEIVE, MPI_ANY_SOURCE, 999, comm, &request[0]);
    MPI_Cancel(&request[0]);
    MPI_Wait(&request[0], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
#endif
    MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, step, RECEIVE, MPI_PROC_NULL, step, comm, &status);
    MPI_Get_count(&status, MPI_INT, &flag);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && flag == 0);
}

/* Under tools, MPI_Recv is MPI_Irecv with MPI_Wait or MPI_Test: these end the job under Intel's MPI and
 * MPICH 4.0 if a message is too long, whatever the error handler. */
static void too_long(void)
{
#if !defined I_MPI_VERSION && !IS_MPICH_4_0
    int class;
    MPI_Isend(out, 10, MPI_INT, to, 1000, comm, &request[0]);
    MPI_Error_class(MPI_Recv(in, 5, MPI_INT, from, 1000, comm, &status), &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
#endif
}

static void exchange(int kind)
{
    if (kind < 4)
        requests(kind);
    else if (kind < 6)
        probes(kind - 4);
    else if (kind == 6)
        persistent();
    else if (kind == 7)
        buffered();
    else if (kind == 8)
        strided();
    else if (kind == 9) {
        nothing_comes();
        too_long();
    } else if (kind == 10) {
        MPI_Sendrecv(out, length, MPI_INT, to, step, RECEIVE, from, step, comm, &status);
        check(&status);
    } else if (kind == 11) {
        for (int i = 0; i < LONGEST; i++)
            in[i] = i < length ? out[i] : -1;
        MPI_Sendrecv_replace(in, length, MPI_INT, to, step, MPI_ANY_SOURCE, step, comm, &status);
        check(&status);
    } else if (kind == 12 && IS_MPICH_4_0) {
    } else if (kind == 12 && step > KINDS) {
        for (int i = 0; i < LONGEST; i++)
            in[i] = i < length ? out[i] : -1;
        MPI_Isendrecv_replace(in, length, MPI_INT, to, step, from, step, comm, &request[0]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        check_data();
    } else if (kind == 12) {
        MPI_Isendrecv(out, length, MPI_INT, to, step, RECEIVE, from, step, comm, &request[0]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE); /* MPICH 5.0.2 leaves its status as it was. */
        check_data();
    } else if (kind == 13) {
        MPI_Irecv(RECEIVE, from, MPI_ANY_TAG, comm, &request[0]);
        MPI_Ssend(SEND);
        MPI_Wait(&request[0], &status);
        check(&status);
    } else if (kind == 14) {
        MPI_Comm quiet;
        MPI_Comm_dup(comm, &quiet);
        MPI_Comm_set_name(quiet, "quiet");
        MPI_Sendrecv(out, length, MPI_INT, to, step, RECEIVE, MPI_ANY_SOURCE, step, quiet, &status);
        check(&status);
        MPI_Comm_free(&quiet);
    } else {
        MPI_Request gone;
        MPI_Isend(SEND, &gone);
        MPI_Request_free(&gone);
        MPI_Recv(RECEIVE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        check(&status);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    srand(4711);
    for (step = 0; step < STEPS; step++) {
        const int distance = 1 + rand() % (size - 1);
        to = (rank + distance) % size;
        from = (rank + size - distance) % size;
        length = rand() % 6 ? rand() % LONGEST : 0;
        fill();
        exchange(step % KINDS);
        MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
