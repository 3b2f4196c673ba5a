/* profile: time, calls and bytes of every call site of MPI, reported by rank 0 at MPI_Finalize.
 *
 * A call site is a routine and the frames that called it: return addresses, or in a Python program the Python
 * frames (profile_frames.h).  A call costs two looks at the clock and one in a table; addresses become file
 * and line only in the report (profile_report.h).  Arguments: output (a file; standard error if it isn't
 * given), depth (how many frames tell call sites apart; 1 if it isn't given). */
#define _GNU_SOURCE
#define TOOL_NAME "profile"
#include "tool.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "profile_frames.h"

/* Nothing is measured before MPI_Init has returned. */
#define TOOL_ENTER(routine) uint64_t bytes = 0, entered = began ? clock_now() : 0;
#define TOOL_LEAVE(routine)                                                                                  \
    if (entered)                                                                                             \
        record(NUMBER_##routine, __builtin_return_address(0), clock_now() - entered, bytes);

/* Data that the call has been given to send. */
#define SENT(number, type) (bytes = returned == MPI_SUCCESS ? (uint64_t)(number) * size_of(type) : 0)
#define SUM(counts, comm)                                                                                    \
    ({                                                                                                       \
        uint64_t sum = 0;                                                                                    \
        for (int i = (int)peers(comm); i-- > 0;)                                                             \
            sum += (uint64_t)(counts)[i];                                                                    \
        sum;                                                                                                 \
    })

static uint64_t began; /* when MPI_Init returned */

static inline uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t size_of(MPI_Datatype type)
{
    int size = 0;
    PMPI_Type_size(type, &size);
    return size > 0 ? (uint64_t)size : 0;
}

/* How many others a rank talks to in a collective call. */
static inline uint64_t peers(MPI_Comm comm)
{
    int size = 0, inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
    return (uint64_t)size;
}

static inline bool is_root(int root, MPI_Comm comm)
{
    int rank = MPI_PROC_NULL;
    PMPI_Comm_rank(comm, &rank);
    return root == MPI_ROOT || root == rank;
}

static void record(int routine, void *caller, uint64_t time, uint64_t bytes);
static void starts(void);
static void report(void);

#include "profile_wrappers.h"

/* The table of call sites: open addressing, never full. */
enum { SITES = 1 << 14, MOST = SITES - SITES / 4 };

struct site {
    uint64_t count, time, least, greatest, bytes;
    struct frames frames;
    int routine;
};

static struct site *sites;
static int used;
static uint64_t lost; /* calls for which the table had no place */
static int depth = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void starts(void)
{
    began = clock_now();
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *table)
{
    tools = table;
    tool_expect_output();
    const char *text = tool_argument("depth");
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : 1;
    if (text && (end == text || *end || value < 1 || value > DEPTH))
        return tool_refuse("depth: expected a number from 1 to %d, got %s", DEPTH, text);
    depth = (int)value;
    return 0;
}

/* The site's place in the table, with a count of 0 if it is new; NULL if the table has no room for a new one.
 */
static struct site *find_site(int routine, const struct frames *frames)
{
    if (!sites && !(sites = calloc(SITES, sizeof *sites)))
        return NULL;
    uint64_t hash = (uint64_t)routine;
    for (int i = 0; i < frames->count; i++)
        hash = (hash ^ frames->key[i]) * 0x9e3779b97f4a7c15u;
    for (size_t at = hash >> 50;; at = (at + 1) % SITES) {
        struct site *site = &sites[at];
        if (!site->count)
            return used < MOST ? site : NULL;
        if (site->routine == routine && frames_equal(&site->frames, frames))
            return site;
    }
}

static void make_site(struct site *site, int routine, const struct frames *frames)
{
    used++;
    site->routine = routine;
    site->frames = *frames;
    site->least = UINT64_MAX;
}

/* Add a call to its site; false if that is new and its frames have no names yet. */
static bool add_call(int routine, const struct frames *frames, bool named, uint64_t time, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    struct site *site = find_site(routine, frames);
    bool unnamed = site && !site->count && !named;
    if (!site) {
        lost++;
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

/* Frames get their names without our lock: that may need Python's, and who has Python's may wait for ours. */
static void record(int routine, void *caller, uint64_t time, uint64_t bytes)
{
    struct frames frames;
    find_frames(&frames, caller, depth);
    if (add_call(routine, &frames, false, time, bytes))
        return;
    frames_name(&frames);
    add_call(routine, &frames, true, time, bytes);
}

#include "profile_report.h"
