/* Messages and collectives among partitions, for modules in C and C++.
 *
 * A module inside PARALLEL runs for one partition of the region.  These functions *post* what is to be sent,
 * received or combined and return at once; when the module returns, its partition rests until all of it is
 * complete, while other partitions run.  So received data are there for the next module of the partition:
 * in the module's outputs, its `inout` parameters, or memory that it keeps.  Scalar outputs count too.
 *
 * Data given here must stay valid until the partition goes on: the module's parameters do, memory of the
 * module's own does if it is not freed, variables on its stack do not.  (Sends of up to COVEN_SMALL bytes are
 * copied at once and may lie on the stack.)
 *
 * Every function returns 0, or a negative code if what it was asked is wrong; the engine ends the run then
 * and says why, whatever the module returns.  Outside the engine there is one partition, number 0, and
 * everything else returns COVEN_OUTSIDE.
 */
#ifndef COVEN_H
#define COVEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COVEN_SMALL 16 /* bytes */
#define COVEN_VERSION 1u

typedef enum coven_type {
    COVEN_BYTE = 0, /* of messages among partitions only */
    COVEN_I32 = 1,
    COVEN_I64 = 2,
    COVEN_F32 = 3,
    COVEN_F64 = 4,
    COVEN_C64 = 5,
    COVEN_C128 = 6,
    COVEN_U8 = 7,
    COVEN_U16 = 8,
    COVEN_BOOL = 9
} coven_type;

typedef enum coven_op {
    COVEN_SUM = 1,
    COVEN_PROD = 2,
    COVEN_MIN = 3,
    COVEN_MAX = 4,
    COVEN_ALL = 5, /* 1 where both are other than 0 */
    COVEN_ANY = 6,
    COVEN_HYPOT = 7 /* The square root of the sum of squares, of reals; no square overflows on the way */
} coven_op;

/* An operation of the user's: into[i] = left[i] op right[i].  `into` may be `left` or `right`.  It must be
 * associative; it need not be commutative, for what is left comes from partitions of smaller index. */
typedef void (*coven_function)(const void *left, const void *right, void *into, size_t count);

enum coven_code { COVEN_FINE = 0, COVEN_OUTSIDE = -1, COVEN_REFUSED = -2 };

enum coven_collective_kind {
    COVEN_BARRIER = 1,
    COVEN_BCAST = 2,
    COVEN_REDUCE = 3,
    COVEN_ALLREDUCE = 4,
    COVEN_SCAN = 5,
    COVEN_GATHER = 6,
    COVEN_ALLGATHER = 7,
    COVEN_SCATTER = 8,
    COVEN_ALLTOALL = 9,
    COVEN_ALLTOALLV = 10,
    COVEN_NEIGHBOR_ALLTOALLV = 11
};

/* One partition's part in a collective operation.  The functions below fill it in. */
typedef struct coven_collective {
    uint32_t kind, type, op;
    int64_t root;
    size_t count;
    const void *data;
    void *result;
    const size_t *counts, *offsets;                   /* ALLTOALLV: of `data`, by partition, in elements */
    const size_t *received_counts, *received_offsets; /* ... of `result` */
    coven_function function;                          /* instead of `op` */
    /* The same with a context; for languages that need one. */
    void (*closure)(void *context, const void *left, const void *right, void *into, size_t count);
    void *context;
} coven_collective;

/* One partition's part in showing rows to others: each row is written once, on one node straight into where
 * its receiver wants it.
 *
 * `list` has entries of `stride` numbers.  [i, p, ...]: row i goes to partition p.  [-n, p, ...]: n rows come
 * from partition p.  The first kind stands before the second one, and each of them ascends by p.  With
 * `period`, rows are positions, arrays of `axes` double numbers: the third and further numbers of an entry
 * say how many periods are added along each axis. */
typedef struct coven_rows {
    const void *data;
    void *result; /* what comes, by partition, in the order of its list */
    const int64_t *list;
    const double *period; /* NULL: rows go as they are */
    size_t width, entries, stride, axes;
} coven_rows;

/* What the engine offers.  `send`, `receive` and `collective` return a ticket of 1 or more, or a coven_code.
 */
typedef struct coven_services {
    uint32_t version;
    int64_t (*partition)(void);
    int64_t (*partitions)(void);
    int64_t (*send)(int64_t to, int32_t tag, const void *data, size_t count, uint32_t type);
    int64_t (*receive)(int64_t from, int32_t tag, void *data, size_t count, uint32_t type);
    int64_t (*collective)(const coven_collective *collective);
    void (*wait)(const int64_t *tickets, size_t count); /* rest until just these are complete */
    int (*complete)(int64_t ticket);
    int64_t (*grid)(uint32_t axis);
    int64_t (*exchange_rows)(const coven_rows *rows);
} coven_services;

/* One for each library; the engine sets it when it has loaded the library. */
__attribute__((weak, visibility("default"))) const coven_services *coven_engine;

static inline int64_t coven_partition(void)
{
    return coven_engine ? coven_engine->partition() : 0;
}

static inline int64_t coven_partitions(void)
{
    return coven_engine ? coven_engine->partitions() : 1;
}

/* How many partitions the grid has along an axis; 0 beyond its last axis.  Without a grid they are in a row. */
static inline int64_t coven_grid(uint32_t axis)
{
    return coven_engine ? coven_engine->grid(axis) : axis == 0;
}

/* Where the partition is along an axis of the grid, from 0. */
static inline int64_t coven_coordinate(uint32_t axis)
{
    int64_t place = coven_partition(), extent = coven_grid(axis);
    uint32_t after;
    for (after = axis + 1; coven_grid(after) > 0; after++)
        place /= coven_grid(after);
    return extent > 0 ? place % extent : 0;
}

/* The first index of the partition's block where an axis of `extent` elements is cut along an axis of the grid;
 * the blocks before it are larger by one than those that follow, where not all can be equal. */
static inline int64_t coven_first(uint32_t axis, int64_t extent)
{
    int64_t place = coven_coordinate(axis), parts = coven_grid(axis), more = extent % (parts > 0 ? parts : 1);
    return parts > 0 ? place * (extent / parts) + (place < more ? place : more) : 0;
}

static inline int coven_code_of(int64_t ticket)
{
    return ticket < 0 ? (int)ticket : COVEN_FINE;
}

static inline int coven_send(int64_t to, int32_t tag, const void *data, size_t count, coven_type type)
{
    return coven_engine ? coven_code_of(coven_engine->send(to, tag, data, count, (uint32_t)type))
                        : COVEN_OUTSIDE;
}

static inline int coven_receive(int64_t from, int32_t tag, void *data, size_t count, coven_type type)
{
    return coven_engine ? coven_code_of(coven_engine->receive(from, tag, data, count, (uint32_t)type))
                        : COVEN_OUTSIDE;
}

static inline int coven_post(uint32_t kind, const void *data, void *result, size_t count, coven_type type,
                             uint32_t op, coven_function function, int64_t root)
{
    coven_collective collective;
    if (!coven_engine)
        return COVEN_OUTSIDE;
    collective.kind = kind;
    collective.type = (uint32_t)type;
    collective.op = op;
    collective.root = root;
    collective.count = count;
    collective.data = data;
    collective.result = result;
    collective.counts = collective.offsets = NULL;
    collective.received_counts = collective.received_offsets = NULL;
    collective.function = function;
    collective.closure = NULL;
    collective.context = NULL;
    return coven_code_of(coven_engine->collective(&collective));
}

/* Complete when all partitions have come to it. */
static inline int coven_barrier(void)
{
    return coven_post(COVEN_BARRIER, NULL, NULL, 0, COVEN_BYTE, 0, NULL, 0);
}

/* `data` of the root goes to everybody's. */
static inline int coven_bcast(void *data, size_t count, coven_type type, int64_t root)
{
    return coven_post(COVEN_BCAST, data, data, count, type, 0, NULL, root);
}

/* Everybody's `data`, element by element, into `result` of the root (others may give NULL). */
static inline int coven_reduce(const void *data, void *result, size_t count, coven_type type, coven_op op,
                               int64_t root)
{
    return coven_post(COVEN_REDUCE, data, result, count, type, (uint32_t)op, NULL, root);
}

static inline int coven_reduce_by(const void *data, void *result, size_t count, coven_type type,
                                  coven_function function, int64_t root)
{
    return coven_post(COVEN_REDUCE, data, result, count, type, 0, function, root);
}

/* The same, into everybody's `result`; the bits are the same everywhere. */
static inline int coven_allreduce(const void *data, void *result, size_t count, coven_type type, coven_op op)
{
    return coven_post(COVEN_ALLREDUCE, data, result, count, type, (uint32_t)op, NULL, 0);
}

static inline int coven_allreduce_by(const void *data, void *result, size_t count, coven_type type,
                                     coven_function function)
{
    return coven_post(COVEN_ALLREDUCE, data, result, count, type, 0, function, 0);
}

/* Partition p gets the combination of partitions 0 to p. */
static inline int coven_scan(const void *data, void *result, size_t count, coven_type type, coven_op op)
{
    return coven_post(COVEN_SCAN, data, result, count, type, (uint32_t)op, NULL, 0);
}

static inline int coven_scan_by(const void *data, void *result, size_t count, coven_type type,
                                coven_function function)
{
    return coven_post(COVEN_SCAN, data, result, count, type, 0, function, 0);
}

/* `count` elements of each partition, by index, in `all` of the root (others may give NULL). */
static inline int coven_gather(const void *data, void *all, size_t count, coven_type type, int64_t root)
{
    return coven_post(COVEN_GATHER, data, all, count, type, 0, NULL, root);
}

static inline int coven_allgather(const void *data, void *all, size_t count, coven_type type)
{
    return coven_post(COVEN_ALLGATHER, data, all, count, type, 0, NULL, 0);
}

/* `count` elements for each partition, by index, from `all` of the root (others may give NULL). */
static inline int coven_scatter(const void *all, void *data, size_t count, coven_type type, int64_t root)
{
    return coven_post(COVEN_SCATTER, all, data, count, type, 0, NULL, root);
}

/* `count` elements for each partition, by index, become `count` elements from each. */
static inline int coven_alltoall(const void *data, void *received, size_t count, coven_type type)
{
    return coven_post(COVEN_ALLTOALL, data, received, count, type, 0, NULL, 0);
}

/* The same with a count and an offset, in elements, for each partition and direction. */
static inline int coven_alltoallv(const void *data, const size_t *counts, const size_t *offsets,
                                  void *received, const size_t *received_counts,
                                  const size_t *received_offsets, coven_type type)
{
    coven_collective collective;
    if (!coven_engine)
        return COVEN_OUTSIDE;
    collective.kind = COVEN_ALLTOALLV;
    collective.type = (uint32_t)type;
    collective.op = 0;
    collective.root = 0;
    collective.count = 0;
    collective.data = data;
    collective.result = received;
    collective.counts = counts;
    collective.offsets = offsets;
    collective.received_counts = received_counts;
    collective.received_offsets = received_offsets;
    collective.function = NULL;
    collective.closure = NULL;
    collective.context = NULL;
    return coven_code_of(coven_engine->collective(&collective));
}

#ifdef __cplusplus
}
#endif
#endif
