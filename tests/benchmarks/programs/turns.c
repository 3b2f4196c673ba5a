/* Turns that jobs of several kinds take, their inputs, and sums of what they computed: loaded by all of them.
 *
 * The variable PSE_BENCH_TURNS names a directory of pipes: a byte in `turn-RANK` is a turn, and what is said
 * goes into `said`.
 */
#include "turns.h"

#include <complex.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coven.h"

enum { MOST = 64, NO_TURN = 1, NOT_ENDED = 2, LONGEST = 4096 };

static double begun; /* When this rank's first partition began, in this turn. */
static int64_t frames_ended, frame_sum;

const char *coven_error(int code)
{
    return code == NO_TURN ? "no turn comes: PSE_BENCH_TURNS names no pipes, or they are closed"
                           : "frames are still under way";
}

int64_t turn_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int pipe_named(const char *name, int64_t rank, int flags)
{
    const char *directory = getenv("PSE_BENCH_TURNS");
    char path[LONGEST];
    snprintf(path, sizeof path, "%s/%s", directory != NULL ? directory : "", name);
    if (rank >= 0)
        snprintf(path + strlen(path), sizeof path - strlen(path), "-%d", (int)rank);
    return open(path, flags | O_CLOEXEC);
}

static void say(const char *line)
{
    int pipe = pipe_named("said", -1, O_WRONLY);
    if (pipe < 0)
        return;
    if (write(pipe, line, strlen(line)) < 0)
        perror("said");
    close(pipe);
}

int turn_await(int64_t rank)
{
    static int pipes[MOST];
    char turn;
    if (rank < 0 || rank >= MOST)
        return 0;
    if (pipes[rank] == 0) {
        pipes[rank] = pipe_named("turn", rank, O_RDONLY);
        if (rank == 0)
            say("{}\n");
    }
    return pipes[rank] >= 0 && read(pipes[rank], &turn, 1) == 1;
}

void turn_tell(double first, double last, int64_t sum)
{
    char line[128];
    snprintf(line, sizeof line, "{\"wall\": %.3f, \"result\": %lld}\n", (last - first) / 1000,
             (long long)sum);
    say(line);
}

/* Of a number and its place, 24 bits that depend on all of theirs (after SplitMix64). */
static int64_t mixed(uint64_t bits, uint64_t place)
{
    bits += (place + 1) * 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return (int64_t)((bits ^ (bits >> 31)) >> 40);
}

int64_t digest(const double *block, int64_t rows, int64_t columns, int64_t stride, int64_t row,
               int64_t column, int64_t total)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            uint64_t bits;
            memcpy(&bits, block + i * stride + j, sizeof bits);
            sum += mixed(bits, (uint64_t)((row + i) * total + column + j));
        }
    return sum;
}

/* Every 32nd row of a band of complex numbers: in a spectrum each depends on the whole frame. */
int64_t digest_sample(const double *a, int64_t rows, int64_t columns, int64_t row)
{
    int64_t sum = 0;
    for (int64_t i = (32 - row % 32) % 32; i < rows; i += 32)
        sum += digest(a + 2 * i * columns, 1, 2 * columns, 0, row + i, 0, 2 * columns);
    return sum;
}

/* Small ones, whose products have exact sums. */
void fill_whole_numbers(double *block, int64_t rows, int64_t columns, int64_t row, int64_t column,
                        int64_t seed)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            block[i * columns + j] =
                (double)(mixed((uint64_t)seed, (uint64_t)((row + i) << 32 | (column + j))) % 19 - 9);
}

static double fraction(int64_t place)
{
    return (double)mixed(1, (uint64_t)place) / (1 << 24) - 0.5;
}

/* Bodies of equal mass in a cube, slow. */
void fill_bodies(double *xm, double *vel, int64_t bodies, int64_t first, int64_t all)
{
    for (int64_t i = 0; i < bodies; i++) {
        for (int64_t axis = 0; axis < 3; axis++) {
            xm[4 * i + axis] = fraction(6 * (first + i) + axis);
            vel[3 * i + axis] = 0.1 * fraction(6 * (first + i) + 3 + axis);
        }
        xm[4 * i + 3] = 1.0 / (double)all;
    }
}

/* Particles on a face-centred cubic lattice in a box, with velocities of a temperature of about 1.4. */
void fill_lattice(double *x, double *v, int64_t cells, double side)
{
    static const int base[4][3] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
    for (int64_t i = 0; i < 4 * cells * cells * cells; i++) {
        const int64_t cell = i / 4, corner[3] = {cell / cells / cells, cell / cells % cells, cell % cells};
        for (int64_t axis = 0; axis < 3; axis++) {
            x[3 * i + axis] = side * ((double)corner[axis] + 0.5 * base[i % 4][axis]) / (double)cells;
            v[3 * i + axis] = 4.0 * fraction(3 * i + axis);
        }
    }
}

int64_t digest_particles(const double *x, const int64_t *id, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += digest(x + 3 * i, 1, 3, 3, id[i], 0, 3);
    return sum;
}

/* Complex numbers without imaginary parts. */
void fill_frame(double *a, int64_t rows, int64_t columns, int64_t row, int64_t k)
{
    for (int64_t i = 0; i < rows * columns; i++) {
        a[2 * i] = (double)((uint64_t)((row * columns + i) * 2654435761 + k) % 1024) / 1024.0;
        a[2 * i + 1] = 0.0;
    }
}

int64_t sum_of_frame(const double *spectrum)
{
    return (int64_t)(1024.0 * spectrum[0]);
}

//@ coven module await_turn(in i64 before, out i64 here)
int await_turn(int64_t before, int64_t *here)
{
    begun = 0;
    frames_ended = 0;
    *here = before;
    return turn_await(coven_partition()) ? 0 : NO_TURN;
}

/* `go` makes it wait for all partitions' turns. */
//@ coven module begin(in i64 go)
int begin(int64_t go)
{
    (void)go;
    if (begun == 0)
        begun = (double)turn_clock();
    return 0;
}

//@ coven module tell(in f64 first, in f64 last, in i64 sum)
int tell(double first, double last, int64_t sum)
{
    turn_tell(first, last, sum);
    return 0;
}

static void end(double *first, double *last)
{
    *last = (double)turn_clock();
    *first = begun;
}

//@ coven module stop(in f64 after, out f64 first, out f64 last)
int stop(double after, double *first, double *last)
{
    (void)after;
    end(first, last);
    return 0;
}

/* A band of a plate within its frame. */
//@ coven module sum_plate(in f64 u[nx+2, ny+2], out i64 sum)
int sum_plate(const double *u, int64_t *sum, int64_t nx, int64_t ny)
{
    *sum = digest(u + ny + 3, nx, ny, ny + 2, coven_partition() * nx, 0, ny);
    return 0;
}

/* A block of a matrix, `across` of which are beside each other. */
//@ coven module end_block(in i64 across, in f64 a[m, n], out f64 first, out f64 last, out i64 sum)
int end_block(int64_t across, const double *a, double *first, double *last, int64_t *sum, int64_t m,
              int64_t n)
{
    const int64_t partition = coven_partition();
    end(first, last);
    *sum = digest(a, m, n, n, partition / across * m, partition % across * n, across * n);
    return 0;
}

//@ coven module end_vector(in f64 x[n], out f64 first, out f64 last, out i64 sum)
int end_vector(const double *x, double *first, double *last, int64_t *sum, int64_t n)
{
    end(first, last);
    *sum = digest(x, 1, n, n, 0, 0, n);
    return 0;
}

//@ coven module frame(in i64 k, in i64 go, out c128 a[m, n])
int frame(int64_t k, int64_t go, double complex *a, int64_t m, int64_t n)
{
    (void)go;
    fill_frame((double *)a, m, n, coven_partition() * m, k);
    return 0;
}

//@ coven module spectrum(in c128 a[m, n])
int spectrum(const double complex *a, int64_t m, int64_t n)
{
    frame_sum = digest_sample((const double *)a, m, n, coven_partition() * m);
    frames_ended++;
    return 0;
}

//@ coven module frame_3d(in i64 k, in i64 go, out c128 a[l, m, n])
int frame_3d(int64_t k, int64_t go, double complex *a, int64_t l, int64_t m, int64_t n)
{
    (void)go;
    fill_frame((double *)a, l, m * n, coven_partition() * l, k);
    return 0;
}

/* A spectrum's first number is the exact sum of its frame, however it was computed; the first partition has
 * it. */
static int end_spectrum(const double complex *a)
{
    frame_sum = coven_partition() == 0 ? sum_of_frame((const double *)a) : 0;
    frames_ended++;
    return 0;
}

//@ coven module spectrum_2d(in c128 a[m, n])
int spectrum_2d(const double complex *a, int64_t m, int64_t n)
{
    (void)m, (void)n;
    return end_spectrum(a);
}

//@ coven module spectrum_3d(in c128 a[l, m, n])
int spectrum_3d(const double complex *a, int64_t l, int64_t m, int64_t n)
{
    (void)l, (void)m, (void)n;
    return end_spectrum(a);
}

//@ coven module end_frames(in i64 frames, out f64 first, out f64 last, out i64 sum)
int end_frames(int64_t frames, double *first, double *last, int64_t *sum)
{
    end(first, last);
    *sum = frame_sum;
    return frames_ended == frames ? 0 : NOT_ENDED;
}

//@ coven module whole_numbers(in i64 seed, in i64 across, out f64 a[m, n])
int whole_numbers(int64_t seed, int64_t across, double *a, int64_t m, int64_t n)
{
    const int64_t partition = coven_partition();
    fill_whole_numbers(a, m, n, partition / across * m, partition % across * n, seed);
    return 0;
}

//@ coven module bodies(in i64 all, out f64 xm[n, 4], out f64 vel[n, 3])
int bodies(int64_t all, double *xm, double *vel, int64_t n)
{
    fill_bodies(xm, vel, n, coven_partition() * n, all);
    return 0;
}

//@ coven module lattice(in i64 cells, in f64 side, out f64 x[n, 3], out f64 v[n, 3])
int lattice(int64_t cells, double side, double *x, double *v, int64_t n)
{
    (void)n;
    fill_lattice(x, v, cells, side);
    return 0;
}

//@ coven module end_particles(in f64 x[n, 3], in i64 id[n], out f64 first, out f64 last, out i64 sum)
int end_particles(const double *x, const int64_t *id, double *first, double *last, int64_t *sum, int64_t n)
{
    end(first, last);
    *sum = digest_particles(x, id, n);
    return 0;
}
