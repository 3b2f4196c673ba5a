/* Which planes of the velocity field come to which of Partrace's processors, before all have all of them. */
#ifndef SHARES_H
#define SHARES_H
#include <stdint.h>

/* The first plane of the share of processor `index` of `count`; the share ends where the next one begins. */
static inline int64_t share_begin(int64_t planes, int64_t count, int64_t index)
{
    return planes * index / count;
}

#endif
