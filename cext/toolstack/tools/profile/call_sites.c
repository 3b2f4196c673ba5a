/* The table of call sites: open addressing, never full. */
#include "call_sites.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = SITES - SITES / 4 };

struct profile_site *pse_profile_sites;
static int used;
uint64_t pse_profile_lost;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool frames_equal(const struct profile_frames *a, const struct profile_frames *b)
{
    return a->count == b->count && memcmp(a->key, b->key, (size_t)a->count * sizeof *a->key) == 0;
}

/* The site's place in the table, with a count of 0 if it is new; NULL if the table has no room for a new one.
 */
static struct profile_site *find_site(int routine, const struct profile_frames *frames)
{
    if (!pse_profile_sites && !(pse_profile_sites = calloc(SITES, sizeof *pse_profile_sites)))
        return NULL;
    uint64_t hash = (uint64_t)routine;
    for (int i = 0; i < frames->count; i++)
        hash = (hash ^ frames->key[i]) * 0x9e3779b97f4a7c15u;
    for (size_t at = hash >> 50;; at = (at + 1) % SITES) {
        struct profile_site *site = &pse_profile_sites[at];
        if (!site->count)
            return used < MOST ? site : NULL;
        if (site->routine == routine && frames_equal(&site->frames, frames))
            return site;
    }
}

static void make_site(struct profile_site *site, int routine, const struct profile_frames *frames)
{
    used++;
    site->routine = routine;
    site->frames = *frames;
    site->least = UINT64_MAX;
}

/* Add a call to its site; false if that is new and its frames have no names yet. */
static bool add_call(int routine, const struct profile_frames *frames, bool named, uint64_t time,
                     uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    struct profile_site *site = find_site(routine, frames);
    bool unnamed = site && !site->count && !named;
    if (!site) {
        pse_profile_lost++;
    } else if (!unnamed) {
        if (!site->count)
            make_site(site, routine, frames);
        site->count++, site->time += time, site->bytes += bytes;
        site->least = time < site->least ? time : site->least;
        site->greatest = time > site->greatest ? time : site->greatest;
    }
    pthread_mutex_unlock(&lock);
    return !unnamed;
}

void pse_profile_record(int routine, void *caller, int depth, uint64_t time, uint64_t bytes)
{
    struct profile_frames frames;
    pse_profile_find_frames(&frames, caller, depth);
    if (add_call(routine, &frames, false, time, bytes))
        return;
    pse_profile_name_frames(&frames);
    add_call(routine, &frames, true, time, bytes);
}
