/* What each call of MPI or of a function needs stands together, and code begins with a line of the cache:
 * after a program has computed, all of it comes from memory. */
#ifndef PSE_TRACE_HOT_H
#define PSE_TRACE_HOT_H

#define PSE_TRACE_HOT __attribute__((hot, aligned(64)))
#define PSE_TRACE_HOT_DATA __attribute__((section("trace_hot")))

#endif
