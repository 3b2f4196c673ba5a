/* 2-D FFTs of frames by hand: rows among ranks, transposed by way of MPI's all-to-all exchange.
 *
 * With overlap there are two frames under way: while one is exchanged, rows of the other are transformed, in
 * parts, between which MPI gets its chance.
 */
#include "peer.h"

int rows(double *a, int64_t m, int64_t n);

enum { PARTS = 8, TILE = 16 };

static int64_t n, m, frames, sum;

/* A frame that is under way: our band of it, what is sent and what came. */
typedef struct frame {
    double *band, *packed, *arrived;
    MPI_Request request;
    int64_t number;
} frame;

static frame kept[2];

void prepare(char **arguments)
{
    n = atoll(arguments[0]);
    frames = atoll(arguments[1]);
    m = n / size;
    for (int i = 0; i < 2; i++)
        kept[i] = (frame){numbers(2 * m * n), numbers(2 * m * n), numbers(2 * m * n), MPI_REQUEST_NULL, 0};
}

/* Transpose a tile of complex numbers. */
static void turn_tile(const double *from, int64_t stride, double *to, int64_t height, int64_t width)
{
    for (int64_t j = 0; j < width; j++)
        for (int64_t i = 0; i < height; i++) {
            to[2 * (j * m + i)] = from[2 * (i * stride + j)];
            to[2 * (j * m + i) + 1] = from[2 * (i * stride + j) + 1];
        }
}

/* Transpose the block for each rank into what is sent to it. */
static void pack(frame *f)
{
    for (int64_t to = 0; to < size; to++)
        for (int64_t i = 0; i < m; i += TILE)
            for (int64_t j = 0; j < m; j += TILE)
                turn_tile(f->band + 2 * (i * n + to * m + j), n, f->packed + 2 * ((to * m + j) * m + i),
                          i + TILE < m ? TILE : m - i, j + TILE < m ? TILE : m - j);
}

static void unpack(frame *f)
{
    for (int64_t from = 0; from < size; from++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < 2 * m; k++)
                f->band[2 * (i * n + from * m) + k] = f->arrived[2 * (from * m + i) * m + k];
}

static void transpose(frame *f)
{
    pack(f);
    if (size == 1) {
        exchange_pointers(&f->band, &f->packed);
        return;
    }
    MPI_Alltoall(f->packed, (int)(2 * m * m), MPI_DOUBLE, f->arrived, (int)(2 * m * m), MPI_DOUBLE,
                 MPI_COMM_WORLD);
    unpack(f);
}

static void begin_transpose(frame *f)
{
    pack(f);
    MPI_Ialltoall(f->packed, (int)(2 * m * m), MPI_DOUBLE, f->arrived, (int)(2 * m * m), MPI_DOUBLE,
                  MPI_COMM_WORLD, &f->request);
}

static void end_transpose(frame *f)
{
    MPI_Wait(&f->request, MPI_STATUS_IGNORE);
    unpack(f);
}

/* Transform the rows of a frame while another one may be exchanged. */
static void transform(frame *f, frame *beside)
{
    int done;
    for (int64_t part = 0; part < PARTS; part++) {
        const int64_t begin = m * part / PARTS, end = m * (part + 1) / PARTS;
        rows(f->band + 2 * begin * n, end - begin, n);
        MPI_Test(&beside->request, &done, MPI_STATUS_IGNORE);
    }
}

static void load(frame *f, int64_t number)
{
    fill_frame(f->band, m, n, rank * m, number);
}

static void finish(frame *f)
{
    sum = digest_sample(f->band, m, n, rank * m);
}

static void run_blocking(void)
{
    frame *f = &kept[0];
    for (int64_t k = 0; k < frames; k++) {
        load(f, k);
        for (int way = 0; way < 2; way++) {
            rows(f->band, m, n);
            transpose(f);
        }
        finish(f);
    }
}

/* Each frame's first transforms run while the one before it is exchanged for the first time, and its second
 * ones while the next one is. */
static void run_overlapping(void)
{
    for (int64_t k = 0; k <= frames; k++) {
        frame *now = &kept[k % 2], *before = &kept[(k + 1) % 2];
        if (k < frames) {
            load(now, k);
            transform(now, before);
        }
        if (k > 0)
            end_transpose(before);
        if (k < frames)
            begin_transpose(now);
        if (k > 0) {
            transform(before, now);
            transpose(before);
            finish(before);
        }
    }
}

void run(bool overlap)
{
    if (overlap)
        run_overlapping();
    else
        run_blocking();
}

int64_t sum_results(void)
{
    return sum;
}
