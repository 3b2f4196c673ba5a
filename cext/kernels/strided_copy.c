/* Strided copies, at the speed of the memory wherever the strides allow it.
 *
 * First the axes are put into the order of the destination, and axes that lie next to each other in both
 * arrays become one.  Then one of three things is left:
 *   - rows that are contiguous in both arrays: memcpy for each;
 *   - two arrays that run fastest along the same axis: element by element;
 *   - a transpose: the destination runs fastest along axis `a`, the source along axis `b`.
 *
 * A transpose goes in square tiles of one or two cache lines by as many, through a buffer, so that each line
 * of either array is read or written once and whole: with strides that are powers of two, the lines of one
 * tile fall into the same few sets of the cache and wouldn't survive there until they are needed again. Tiles
 * go in blocks that are a page wide both ways: the page tables of the processor hold a block's pages of both
 * arrays.  Where the destination won't fit into the caches anyway, it is written past them, which saves
 * reading it first.
 */
#include "strided_copy.h"

#include "abi_elements.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    BLOCK_BYTES = 4096,
    LINE_BYTES = 64,
    STREAM_BYTES = 4 << 20, /* Larger destinations are written past the caches. */
};

typedef struct axis {
    int64_t extent, dst, src; /* Strides in bytes. */
} axis;

/* What there is to copy.  While it is worked out, all axes are in `axes`; at the end `a`, and `b` for a
 * transpose, have been taken out, and for each element of the other axes there is one run over these. */
typedef struct plan {
    char *dst;
    const char *src;
    size_t itemsize;
    int count;
    axis axes[PSE_MAX_DIMS];
    axis a, b;
    bool stream;
} plan;

/* Elements as machine words, at any address. */
#define ANYWHERE __attribute__((may_alias, aligned(1)))
typedef uint8_t ANYWHERE item_1;
typedef uint16_t ANYWHERE item_2;
typedef uint32_t ANYWHERE item_4;
typedef uint64_t ANYWHERE item_8;
typedef uint64_t item_16 __attribute__((vector_size(16), may_alias, aligned(1)));

/* Write the rows of a tile to the destination. */
static inline void write_tile(char *dst, int64_t stride, const char *tile, int rows, int width)
{
    for (int i = 0; i < rows; i++)
        memcpy(dst + i * stride, tile + i * width, (size_t)width);
}

/* The same past the caches; every row begins at a multiple of 16 bytes. */
static inline void stream_tile(char *dst, int64_t stride, const char *tile, int rows, int width)
{
#ifdef __SSE2__
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < width; j += 16)
            _mm_stream_si128((__m128i *)(dst + i * stride + j), *(const __m128i *)(tile + i * width + j));
#else
    write_tile(dst, stride, tile, rows, width);
#endif
}

/* Streamed stores may pass later ones: they must be there before another rank is told that the copy is done.
 */
static void finish_stores(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Elements along each side of a tile: measured. */
#define SIDE_OF(size) ((size) == 16 ? 8 : LINE_BYTES / (size))

/* For one element size: some elements along both inner axes, and a whole tile through the buffer. */
#define DEFINE_COPIES(size)                                                                                  \
    static void rectangle_##size(const plan *p, char *dst, const char *src, int64_t na, int64_t nb)          \
    {                                                                                                        \
        for (int64_t j = 0; j < nb; j++)                                                                     \
            for (int64_t i = 0; i < na; i++)                                                                 \
                *(item_##size *)(dst + i * p->a.dst + j * p->b.dst) =                                        \
                    *(const item_##size *)(src + i * p->a.src + j * p->b.src);                               \
    }                                                                                                        \
    static void tile_##size(const plan *p, char *dst, const char *src)                                       \
    {                                                                                                        \
        enum { SIDE = SIDE_OF(size) };                                                                       \
        item_##size tile[SIDE][SIDE] __attribute__((aligned(LINE_BYTES)));                                   \
        for (int i = 0; i < SIDE; i++)                                                                       \
            for (int j = 0; j < SIDE; j++)                                                                   \
                tile[j][i] = *(const item_##size *)(src + i * p->a.src + j * p->b.src);                      \
        if (p->stream)                                                                                       \
            stream_tile(dst, p->b.dst, (const char *)tile, SIDE, SIDE * size);                               \
        else                                                                                                 \
            write_tile(dst, p->b.dst, (const char *)tile, SIDE, SIDE * size);                                \
    }
DEFINE_COPIES(1)
DEFINE_COPIES(2)
DEFINE_COPIES(4)
DEFINE_COPIES(8)
DEFINE_COPIES(16)

/* Elements of any other size. */
static void rectangle_any(const plan *p, char *dst, const char *src, int64_t na, int64_t nb)
{
    for (int64_t j = 0; j < nb; j++)
        for (int64_t i = 0; i < na; i++)
            memcpy(dst + i * p->a.dst + j * p->b.dst, src + i * p->a.src + j * p->b.src, p->itemsize);
}

typedef struct copies {
    int64_t side; /* Of a tile, or of a rectangle where there is no tile. */
    void (*rectangle)(const plan *p, char *dst, const char *src, int64_t na, int64_t nb);
    void (*tile)(const plan *p, char *dst, const char *src);
} copies;

static copies copies_for(size_t itemsize)
{
    switch (itemsize) {
#define CASE(size)                                                                                           \
    case size:                                                                                               \
        return (copies){SIDE_OF(size), rectangle_##size, tile_##size};
        CASE(1)
        CASE(2)
        CASE(4)
        CASE(8)
        CASE(16)
#undef CASE
    default:
        return (copies){8, rectangle_any, NULL};
    }
}

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* Copy `na` by `nb` elements, tile by tile. */
static void copy_block(const plan *p, copies copy, char *dst, const char *src, int64_t na, int64_t nb)
{
    int64_t side = copy.side;
    bool tiles = copy.tile && p->a.dst == (int64_t)p->itemsize;
    for (int64_t i = 0; i < na; i += side) {
        for (int64_t j = 0; j < nb; j += side) {
            char *to = dst + i * p->a.dst + j * p->b.dst;
            const char *from = src + i * p->a.src + j * p->b.src;
            if (tiles && i + side <= na && j + side <= nb)
                copy.tile(p, to, from);
            else
                copy.rectangle(p, to, from, least(side, na - i), least(side, nb - j));
        }
    }
}

/* How many elements along `a` lie before the first whole cache line of the destination. */
static int64_t elements_before_line(const plan *p, const char *dst)
{
    uint64_t bytes = -(uint64_t)(uintptr_t)dst % LINE_BYTES;
    return bytes % p->itemsize ? 0 : least((int64_t)(bytes / p->itemsize), p->a.extent);
}

static void transpose(const plan *p, copies copy, char *dst, const char *src)
{
    int64_t page = BLOCK_BYTES / (int64_t)p->itemsize, block = page < copy.side ? copy.side : page;
    int64_t head = p->a.dst == (int64_t)p->itemsize ? elements_before_line(p, dst) : 0;
    copy_block(p, copy, dst, src, head, p->b.extent);
    for (int64_t i = head; i < p->a.extent; i += block)
        for (int64_t j = 0; j < p->b.extent; j += block)
            copy_block(p, copy, dst + i * p->a.dst + j * p->b.dst, src + i * p->a.src + j * p->b.src,
                       least(block, p->a.extent - i), least(block, p->b.extent - j));
}

/* The inner axes of one element of the outer ones. */
static void copy_inner(const plan *p, copies copy, char *dst, const char *src)
{
    if (p->b.extent > 1)
        transpose(p, copy, dst, src);
    else if (p->a.dst == (int64_t)p->itemsize && p->a.src == p->a.dst)
        memcpy(dst, src, (size_t)p->a.extent * p->itemsize);
    else
        copy.rectangle(p, dst, src, p->a.extent, 1);
}

static void copy_outer(const plan *p, copies copy, int axis_index, char *dst, const char *src)
{
    if (axis_index == p->count) {
        copy_inner(p, copy, dst, src);
        return;
    }
    const axis *along = &p->axes[axis_index];
    for (int64_t i = 0; i < along->extent; i++)
        copy_outer(p, copy, axis_index + 1, dst + i * along->dst, src + i * along->src);
}

/* Take an axis in; it then runs forwards in the destination. */
static void add_axis(plan *p, axis new)
{
    if (new.extent == 1)
        return;
    if (new.dst < 0) {
        p->dst += (new.extent - 1) * new.dst;
        p->src += (new.extent - 1) * new.src;
        new.dst = -new.dst;
        new.src = -new.src;
    }
    int at = p->count++;
    for (; at > 0 && p->axes[at - 1].dst < new.dst; at--)
        p->axes[at] = p->axes[at - 1];
    p->axes[at] = new;
}

/* Make one axis of neighbours that are one in both arrays. */
static void merge_axes(plan *p)
{
    int last = 0;
    for (int i = 1; i < p->count; i++) {
        axis *outer = &p->axes[last], inner = p->axes[i];
        if (outer->dst == inner.extent * inner.dst && outer->src == inner.extent * inner.src)
            *outer = (axis){outer->extent * inner.extent, inner.dst, inner.src};
        else
            p->axes[++last] = inner;
    }
    if (p->count)
        p->count = last + 1;
}

/* A few elements that lie side by side in both arrays are one larger element. */
static void widen_items(plan *p)
{
    if (p->count < 2)
        return;
    const axis *last = &p->axes[p->count - 1];
    int64_t itemsize = (int64_t)p->itemsize;
    if (last->dst != itemsize || last->src != itemsize || last->extent * itemsize > 16)
        return;
    p->itemsize *= (size_t)last->extent;
    p->count--;
}

static axis take_axis(plan *p, int index)
{
    axis taken = p->axes[index];
    memmove(&p->axes[index], &p->axes[index + 1], (size_t)(--p->count - index) * sizeof(axis));
    return taken;
}

/* Which axis the source runs fastest along. */
static int fastest_of_source(const plan *p)
{
    int fastest = p->count - 1;
    for (int i = fastest - 1; i >= 0; i--)
        if (llabs(p->axes[i].src) < llabs(p->axes[fastest].src))
            fastest = i;
    return fastest;
}

/* Choose the inner axes. */
static void choose_inner(plan *p)
{
    p->a = p->b = (axis){1, (int64_t)p->itemsize, (int64_t)p->itemsize};
    if (p->count == 0)
        return;
    int fastest = fastest_of_source(p);
    bool is_transpose = fastest != p->count - 1;
    p->a = take_axis(p, p->count - 1);
    if (is_transpose)
        p->b = take_axis(p, fastest);
}

/* Writing past the caches needs rows that begin alike, at an address where the processor can. */
static bool may_stream(const plan *p, uint64_t elements)
{
    bool aligned = (uintptr_t)p->dst % p->itemsize == 0 && p->b.dst % 16 == 0;
    for (int i = 0; i < p->count; i++)
        aligned = aligned && p->axes[i].dst % 16 == 0;
    return aligned && elements * p->itemsize > STREAM_BYTES;
}

void pse_kernels_strided_copy(char *dst, const int64_t *dst_strides, const char *src,
                              const int64_t *src_strides, const int64_t *shape, int ndim, size_t itemsize)
{
    plan p = {.dst = dst, .src = src, .itemsize = itemsize};
    uint64_t elements = 1;
    for (int i = 0; i < ndim; i++) {
        elements *= (uint64_t)shape[i];
        add_axis(&p, (axis){shape[i], dst_strides[i], src_strides[i]});
    }
    if (elements == 0 || itemsize == 0)
        return;
    merge_axes(&p);
    widen_items(&p);
    choose_inner(&p);
    p.stream = may_stream(&p, elements);
    copy_outer(&p, copies_for(p.itemsize), 0, p.dst, p.src);
    finish_stores();
}
