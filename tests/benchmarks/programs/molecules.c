/* Molecular dynamics by hand: a slab of the periodic box for each rank.
 *
 * What a particle has travels in one message when it moves to another slab. Images are listed in the
 * order of the ranks that see them, and their number is known until they are listed again: a step
 * needs one exchange. With overlap it is messages to those ranks only, all at once.
 */
#include "../../../cext/kernels/border.c" /* The same lists; everything else is by hand. */
#include "peer.h"

#include <stdio.h>
#include <string.h>

int settle(const double *all, const double *speeds, double side, double *x, double *v, int64_t *id, int64_t m,
           int64_t *n);
int owners(double *x, double side, int64_t *owner, int64_t n);
int neighbours(const double *x, const double *images, double side, double reach, int64_t most, int64_t *first,
               int32_t *list, int64_t n, int64_t m, int64_t *p);
int forces(const double *x, const double *images, const int64_t *first, const int32_t *list, double cutoff,
           bool shifted, double *f, double *energy, double *virial, int64_t n, int64_t m, int64_t q,
           int64_t p);
int advance(double *x, double *v, const int64_t *id, const double *f, const double *listed, double dt,
            double friction, double temperature, double farthest, int64_t seed, int64_t step, double *moved,
            int64_t n);
int kick(double *v, const double *f, double dt, int64_t n);

enum { RANKS = 64, FIELDS = 7, MOST = 192, IMAGES = 12 };

static const double cutoff = 2.5, skin = 0.3, dt = 0.005;
static double side;
static int64_t steps, all, n, k, m, listed_pairs;
static double *x, *v, *f, *at_listing, *shown, *seen, *given, *taken;
static int64_t *id, *owner, *images, *to, *order, *first;
static int32_t *list;

/* What goes to each rank, and what comes from each, in doubles. */
typedef struct {
    int counts[RANKS], begins[RANKS], came[RANKS], at[RANKS];
} route;

static route to_images;

/* Order rows by the ranks that they go to; gives the number of doubles that come. */
static int plan(route *way, const int64_t *ranks, int64_t rows, int width)
{
    int64_t next[RANKS];
    memset(way->counts, 0, sizeof way->counts);
    for (int64_t i = 0; i < rows; i++)
        way->counts[ranks[i]] += width;
    MPI_Alltoall(way->counts, 1, MPI_INT, way->came, 1, MPI_INT, MPI_COMM_WORLD);
    way->begins[0] = way->at[0] = 0;
    for (int r = 1; r < size; r++) {
        way->begins[r] = way->begins[r - 1] + way->counts[r - 1];
        way->at[r] = way->at[r - 1] + way->came[r - 1];
    }
    for (int r = 0; r < size; r++)
        next[r] = way->begins[r] / width;
    for (int64_t i = 0; i < rows; i++)
        order[next[ranks[i]]++] = i;
    return way->at[size - 1] + way->came[size - 1];
}

static void send_all(const route *way, const double *from, double *into)
{
    MPI_Alltoallv(from, way->counts, way->begins, MPI_DOUBLE, into, way->came, way->at, MPI_DOUBLE,
                  MPI_COMM_WORLD);
}

/* Send to those ranks only that get something. */
static void send_some(const route *way, const double *from, double *into)
{
    MPI_Request requests[2 * RANKS];
    int posted = 0;
    for (int r = 0; r < size; r++)
        if (r != rank && way->came[r] > 0)
            MPI_Irecv(into + way->at[r], way->came[r], MPI_DOUBLE, r, 0, MPI_COMM_WORLD, &requests[posted++]);
    for (int r = 0; r < size; r++)
        if (r != rank && way->counts[r] > 0)
            MPI_Isend(from + way->begins[r], way->counts[r], MPI_DOUBLE, r, 0, MPI_COMM_WORLD,
                      &requests[posted++]);
    memcpy(into + way->at[rank], from + way->begins[rank], (size_t)way->counts[rank] * sizeof *into);
    MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
}

static void migrate_particles(void)
{
    route way;
    owners(x, side, owner, n);
    const int64_t comes = plan(&way, owner, n, FIELDS) / FIELDS;
    for (int64_t i = 0; i < n; i++) {
        double *row = given + FIELDS * i;
        memcpy(row, x + 3 * order[i], 3 * sizeof *row);
        memcpy(row + 3, v + 3 * order[i], 3 * sizeof *row);
        memcpy(row + 6, id + order[i], sizeof *row);
    }
    send_all(&way, given, taken);
    n = comes;
    for (int64_t i = 0; i < n; i++) {
        const double *row = taken + FIELDS * i;
        memcpy(x + 3 * i, row, 3 * sizeof *row);
        memcpy(v + 3 * i, row + 3, 3 * sizeof *row);
        memcpy(id + i, row + 6, sizeof *row);
    }
}

/* The slab of a rank, and which images it sees: as `domain` of the program has it. */
static void describe_box(double *box, int r)
{
    const double width = side / size;
    for (int axis = 0; axis < 3; axis++) {
        box[axis] = axis == 0 ? r * width : 0.0;
        box[3 + axis] = axis == 0 ? box[axis] + width : side;
        box[6 + axis] = side;
    }
    box[9] = cutoff + skin;
}

static void list_images(void)
{
    double boxes[RANKS * 10];
    int64_t sees[RANKS] = {0};
    const pse_border border = {
        .x = x, .boxes = boxes, .rows = n, .axes = 3, .partitions = size, .here = rank};
    for (int r = 0; r < size; r++)
        describe_box(boxes + 10 * r, r);
    const int64_t candidates = pse_kernels_border_count(&border, order, sees);
    k = 0;
    for (int r = 0; r < size; r++)
        k += sees[r];
    if (candidates < 0 || k > IMAGES * all) {
        fputs("there are more images than there is room for\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    pse_kernels_border_list(&border, order, candidates, images);
    for (int64_t i = 0; i < k; i++)
        to[i] = images[5 * i + 1];
    m = plan(&to_images, to, k, 3) / 3;
}

static void show_images(bool overlap)
{
    for (int64_t i = 0; i < k; i++)
        for (int axis = 0; axis < 3; axis++)
            shown[3 * i + axis] = x[3 * images[5 * i] + axis] + (double)images[5 * i + 2 + axis] * side;
    (overlap ? send_some : send_all)(&to_images, shown, seen);
}

static void arrange(bool overlap)
{
    migrate_particles();
    list_images();
    show_images(overlap);
    neighbours(x, seen, side, cutoff + skin, MOST, first, list, n, m, &listed_pairs);
    memcpy(at_listing, x, (size_t)(3 * n) * sizeof *x);
}

static void find_forces(void)
{
    double energy, virial;
    forces(x, seen, first, list, cutoff, false, f, &energy, &virial, n, m, 2 * n + 1, listed_pairs);
}

static int64_t *integers(int64_t count)
{
    return (int64_t *)numbers(count);
}

static void make_room(void)
{
    double **triples[] = {&x, &v, &f, &at_listing};
    for (int i = 0; i < 4; i++)
        *triples[i] = numbers(3 * all);
    shown = numbers(3 * IMAGES * all);
    seen = numbers(3 * IMAGES * all);
    to = integers(IMAGES * all);
    order = integers(IMAGES * all);
    images = integers(5 * IMAGES * all);
    given = numbers(FIELDS * all);
    taken = numbers(FIELDS * all);
    id = integers(all);
    owner = integers(all);
    first = integers(2 * all + 1);
    list = (int32_t *)numbers(MOST / 2 * all);
}

void prepare(char **arguments)
{
    const int64_t cells = atoll(arguments[0]);
    steps = atoll(arguments[1]);
    side = 1.68 * (double)cells;
    all = 4 * cells * cells * cells;
    make_room();
    double *everywhere = numbers(3 * all), *speeds = numbers(3 * all);
    partitions_are_ranks(3);
    fill_lattice(everywhere, speeds, cells, side);
    settle(everywhere, speeds, side, x, v, id, all, &n);
    free(everywhere);
    free(speeds);
    arrange(false);
    find_forces();
}

void run(bool overlap)
{
    for (int64_t s = 0; s < steps; s++) {
        double moved;
        advance(x, v, id, f, at_listing, dt, 0.0, 1.4, cutoff, 1, s, &moved, n);
        MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (4 * moved > skin * skin)
            arrange(overlap);
        else
            show_images(overlap);
        find_forces();
        kick(v, f, 0.5 * dt, n);
    }
}

int64_t sum_results(void)
{
    return digest_particles(x, id, n);
}
