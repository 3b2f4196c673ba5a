/* What each call of MPI or of a function needs stands together, in few pages, and code begins with a line of
 * the cache: after a program has computed, all of it comes from memory.
 */
#ifndef PSE_TRACE_HOT_H
#define PSE_TRACE_HOT_H

enum { PSE_TRACE_LINE = 64, PSE_TRACE_PAGE = 4096 };

/* Code of all calls: the linker puts it together, and what of it is cold elsewhere. */
#define PSE_TRACE_HOT __attribute__((hot, aligned(PSE_TRACE_LINE)))
/* Code of messages and requests, and of wrappers: of all that stands here a call needs little. */
#define PSE_TRACE_HOT_CALL __attribute__((hot, aligned(PSE_TRACE_LINE), section("trace_calls")))
/* Variables that nearly every call needs: they share lines. */
#define PSE_TRACE_HOT_DATA __attribute__((section("trace_hot")))
/* Tables, of which a call needs an entry, and what only some calls need. */
#define PSE_TRACE_HOT_TABLE __attribute__((section("trace_hot_tables")))

#endif
