/* The event recorder: fixed-size records appended to a memory-mapped file, one file per rank.
 *
 * A record is complete when `type` is not 0: a reader of a crashed run stops at the first zero type.  Writing
 * is single-threaded per recorder; a full file grows by whole steps.
 *
 * A trace never breaks a run: if the file can't grow, recording stops, that is said once on stderr, and every
 * later record goes nowhere.  Space is reserved before it is written to, so a full disk is never a SIGBUS.
 *
 */
#ifndef PSE_RECORDER_H
#define PSE_RECORDER_H

#include <stdint.h>

#include "abi_events.h"
#include "clock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pse_recorder {
    pse_event *next;  /* Where the next record goes. */
    pse_event *limit; /* First record past what is mapped and backed by memory. */
    void *internal;
} pse_recorder;

/* Create DIRECTORY/rank-RRRRR.events (an older one is replaced) and map its first window.
 * Returns 0, or -errno with *out NULL. */
int pse_recorder_open(pse_recorder **out, const char *directory, uint32_t rank);

/* The same for another writer in the process of that rank: DIRECTORY/rank-RRRRRPART.events, as in ".mpi".
 * What each record needs is in the caller's `recorder`, which may stand beside what else the caller needs. */
int pse_recorder_open_part(pse_recorder *recorder, const char *directory, uint32_t rank, const char *part);

/* Cut the file to what was written, mark it as closed, free what opening took (NULL is allowed).  Returns 0,
 * or -errno of what ended recording early. */
int pse_recorder_close(pse_recorder *recorder);

/* Make room for at least one record; on failure recording stops, said once.  Only pse_recorder_add_at calls
 * it. */
void pse_recorder_grow(pse_recorder *recorder);

uint64_t pse_recorder_count(const pse_recorder *recorder); /* Records in the file so far. */
int pse_recorder_error(const pse_recorder *recorder);      /* errno of what ended recording early, else 0. */

/* Write `text` (UTF-8, not empty) as the name of `number` among things of `kind` (PSE_TEXT_*), in as many
 * TEXT records as it takes. */
void pse_recorder_text(pse_recorder *recorder, uint16_t kind, uint32_t number, const char *text);

/* The same with a time the caller already has: that of the event which first needs the name. */
void pse_recorder_text_at(pse_recorder *recorder, uint64_t time, uint16_t kind, uint32_t number,
                          const char *text);

/* Two 32-bit numbers in one field, as cext/abi/events.def asks for. */
static inline uint64_t pse_pair(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* Append one record with a time the caller already has. `type` is stored last, so that a torn record is never
 * read. */
static inline void pse_recorder_add_at(pse_recorder *recorder, uint64_t time, uint16_t type, uint16_t flags,
                                       uint32_t site, uint64_t tph, uint64_t a, uint64_t b, uint64_t c)
{
    if (__builtin_expect(recorder->next == recorder->limit, 0))
        pse_recorder_grow(recorder);
    pse_event *event = recorder->next++;
    event->time = time;
    event->flags = flags;
    event->site = site;
    event->tph = tph;
    event->a = a;
    event->b = b;
    event->c = c;
    __atomic_store_n(&event->type, type, __ATOMIC_RELEASE);
}

/* Take back the latest record, which this rank has just looked at: `recorder->next - 1`, once there is one.
 */
static inline void pse_recorder_take_back(pse_recorder *recorder)
{
    __atomic_store_n(&(--recorder->next)->type, (uint16_t)0, __ATOMIC_RELEASE);
}

/* Leave the latest record as it is, but let the next one replace it: it stays if this process dies before. */
static inline void pse_recorder_make_provisional(pse_recorder *recorder)
{
    recorder->next--;
}

/* Let such a record stay in any case, if there is one. */
static inline void pse_recorder_keep_provisional(pse_recorder *recorder)
{
    if (recorder->next != recorder->limit && recorder->next->type)
        recorder->next++;
}

/* Append one record that happens now. */
static inline void pse_recorder_add(pse_recorder *recorder, uint16_t type, uint16_t flags, uint32_t site,
                                    uint64_t tph, uint64_t a, uint64_t b, uint64_t c)
{
    pse_recorder_add_at(recorder, pse_clock(), type, flags, site, tph, a, b, c);
}

#ifdef __cplusplus
}
#endif
#endif
