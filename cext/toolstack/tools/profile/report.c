/* The report of `profile`: every rank writes its sites as text, rank 0 puts equal ones together, turns
 * addresses into lines with the help of addr2line, and prints tables.
 *
 * A rank's text: a line for itself, "time in the program, calls that were lost", and one for each site:
 * "routine count time least greatest bytes frame;frame…", tabs between them, times in ns. */
#define _GNU_SOURCE
#include "report.h"

#include <limits.h>
#include <math.h>

#include "call_site.h"
#include "call_sites.h"
#include "clock.h"
#include "tool.h"
#include "tool_memory.h"

enum { TOP = 20, COLUMNS = 16 };

struct site_share { /* of one rank in a site */
    uint64_t count, time, least, greatest, bytes;
};

struct merged_site {
    char *routine, *frames, *place;
    struct site_share all, *rank;
};

static struct merged_site *table;
static int merged_count;
static double *program_time, mpi_time;

/* What a rank tells */

static char *tell(size_t *size, uint64_t began, const char *const routine_names[])
{
    char *text = NULL;
    FILE *file = pse_tool_open_text(&text, size);
    fprintf(file, "%" PRIu64 "\t%" PRIu64 "\n", pse_clock() - began, pse_profile_lost);
    for (int i = 0; pse_profile_sites && i < SITES; i++) {
        const struct profile_site *s = &pse_profile_sites[i];
        if (!s->count)
            continue;
        fprintf(file, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t",
                routine_names[s->routine], s->count, s->time, s->least, s->greatest, s->bytes);
        for (int k = 0; k < s->frames.count; k++)
            fprintf(file, "%s%s", k ? ";" : "", s->frames.name[k] ? s->frames.name[k] : "?");
        fputc('\n', file);
    }
    pse_tool_close_text(file);
    return text;
}

/* All ranks' texts, one after the other, each ended by a zero; at rank 0 only. */
static char *collect(int rank, int size, uint64_t began, const char *const routine_names[])
{
    size_t length;
    char *own = tell(&length, began, routine_names), *all = NULL;
    int bytes = (int)length + 1, total = 0, *lengths = pse_tool_memory((size_t)size * sizeof(int)),
        *places = pse_tool_memory((size_t)size * sizeof(int));
    PMPI_Gather(&bytes, 1, MPI_INT, lengths, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size; total += lengths[i++])
        places[i] = total;
    if (rank == 0)
        all = pse_tool_memory((size_t)total);
    PMPI_Gatherv(own, bytes, MPI_CHAR, all, lengths, places, MPI_CHAR, 0, MPI_COMM_WORLD);
    free(own), free(lengths), free(places);
    return all;
}

/* Putting together */

static void add_share(struct site_share *to, const struct site_share *from)
{
    to->least = !to->count || from->least < to->least ? from->least : to->least;
    to->greatest = from->greatest > to->greatest ? from->greatest : to->greatest;
    to->count += from->count, to->time += from->time, to->bytes += from->bytes;
}

static struct merged_site *find_merged(const char *routine, const char *frames, int size)
{
    for (int i = 0; i < merged_count; i++)
        if (strcmp(table[i].routine, routine) == 0 && strcmp(table[i].frames, frames) == 0)
            return &table[i];
    table = pse_tool_more_memory(table, (size_t)(merged_count + 1) * sizeof *table);
    struct merged_site *made = &table[merged_count++];
    *made = (struct merged_site){.routine = pse_tool_text(routine), .frames = pse_tool_text(frames)};
    made->rank = pse_tool_memory((size_t)size * sizeof *made->rank);
    return made;
}

static void merge_line(char *line, int rank, int size)
{
    char *routine = strsep(&line, "\t");
    uint64_t number[5];
    for (int i = 0; i < 5; i++)
        number[i] = strtoull(strsep(&line, "\t"), NULL, 10);
    struct site_share share = {number[0], number[1], number[2], number[3], number[4]};
    struct merged_site *site = find_merged(routine, line, size);
    add_share(&site->rank[rank], &share);
    add_share(&site->all, &share);
    mpi_time += (double)share.time;
}

/* Merge the texts of all ranks; how many calls were lost. */
static uint64_t merge(char *text, int size)
{
    uint64_t calls_lost = 0;
    program_time = pse_tool_memory((size_t)size * sizeof *program_time);
    for (int rank = 0; rank < size; rank++) {
        char *line = text, *end = text + strlen(text) + 1, *after;
        program_time[rank] = (double)strtoull(line, &after, 10);
        calls_lost += strtoull(after, NULL, 10);
        line = strchr(line, '\n') + 1;
        for (char *next; *line; line = next) {
            next = strchr(line, '\n') + 1;
            next[-1] = '\0';
            merge_line(line, rank, size);
        }
        text = end;
    }
    return calls_lost;
}

/* Places */

/* "@object offset symbol" becomes "file:line function", or "symbol (object+offset)" without debug
 * information.  One addr2line for each address: a report has few. */
static char *resolve(const char *frame)
{
    char object[4096], symbol[512], function[PSE_SOURCE_FUNCTION], line[PATH_MAX], *place = NULL;
    unsigned long offset;
    if (sscanf(frame, "@%4095s %lx %511s", object, &offset, symbol) != 3)
        return strdup(frame);
    /* The call is before the address that it returns to. */
    const bool found = pse_source_line(object, offset - 1, function, line);
    const char *name = strrchr(object, '/');
    const int made =
        found ? asprintf(&place, "%s %s", line, function)
              : asprintf(&place, "%s (%s+%#lx)", function[0] && function[0] != '?' ? function : symbol,
                         name ? name + 1 : object, offset);
    return made < 0 ? NULL : place;
}

static void resolve_all(void)
{
    for (int i = 0; i < merged_count; i++) {
        size_t size;
        FILE *text = pse_tool_open_text(&table[i].place, &size);
        char *frames = table[i].frames, *next = frames;
        for (char *frame; (frame = strsep(&next, ";"));) {
            char *place = resolve(frame);
            fprintf(text, "%s%s", frame == frames ? "" : " < ", place ? place : "?");
            free(place);
        }
        pse_tool_close_text(text);
    }
}

/* Tables */

static int by_time(const void *a, const void *b)
{
    const struct merged_site *left = a, *right = b;
    return (left->all.time < right->all.time) - (left->all.time > right->all.time);
}

static int by_bytes(const void *a, const void *b)
{
    const struct merged_site *left = *(struct merged_site *const *)a,
                             *right = *(struct merged_site *const *)b;
    return (left->all.bytes < right->all.bytes) - (left->all.bytes > right->all.bytes);
}

static void write_ranks(FILE *file, int size)
{
    fprintf(file, "\nTime by rank (s)\n%6s %12s %12s %8s\n", "rank", "program", "MPI", "MPI %");
    for (int rank = 0; rank < size; rank++) {
        double time = 0;
        for (int i = 0; i < merged_count; i++)
            time += (double)table[i].rank[rank].time;
        fprintf(file, "%6d %12.4f %12.4f %8.2f\n", rank, program_time[rank] / 1e9, time / 1e9,
                100 * time / program_time[rank]);
    }
}

static void write_sites(FILE *file)
{
    fprintf(file, "\nCall sites\n%6s %-28s %s\n", "site", "routine", "called from");
    for (int i = 0; i < merged_count; i++)
        fprintf(file, "%6d %-28s %s\n", i + 1, table[i].routine, table[i].place);
}

/* How unequal the ranks' times are: standard deviation over mean. */
static double unevenness(const struct merged_site *site, int size)
{
    double mean = (double)site->all.time / size, squares = 0;
    for (int rank = 0; rank < size; rank++)
        squares += ((double)site->rank[rank].time - mean) * ((double)site->rank[rank].time - mean);
    return size > 1 && mean > 0 ? sqrt(squares / (size - 1)) / mean : 0;
}

static void write_times(FILE *file, int size)
{
    double program = 0;
    for (int rank = 0; rank < size; rank++)
        program += program_time[rank];
    fprintf(file, "\nMost time, all ranks (first %d)\n%6s %-28s %12s %10s %8s %8s %8s\n", TOP, "site",
            "routine", "time s", "calls", "program%", "MPI%", "COV");
    for (int i = 0; i < merged_count && i < TOP; i++) {
        double time = (double)table[i].all.time;
        fprintf(file, "%6d %-28s %12.6f %10" PRIu64 " %8.2f %8.2f %8.2f\n", i + 1, table[i].routine,
                time / 1e9, table[i].all.count, 100 * time / program, 100 * time / mpi_time,
                unevenness(&table[i], size));
    }
}

static void write_bytes(FILE *file)
{
    double total = 0;
    struct merged_site **order = pse_tool_memory((size_t)merged_count * sizeof *order);
    for (int i = 0; i < merged_count; i++)
        order[i] = &table[i], total += (double)table[i].all.bytes;
    qsort(order, (size_t)merged_count, sizeof(struct merged_site *), by_bytes);
    fprintf(file, "\nMost data given to send, all ranks (first %d)\n%6s %-28s %14s %14s %8s\n", TOP, "site",
            "routine", "bytes", "bytes a call", "all%");
    for (int i = 0; i < merged_count && i < TOP && order[i]->all.bytes; i++) {
        double bytes = (double)order[i]->all.bytes;
        fprintf(file, "%6d %-28s %14.0f %14.1f %8.2f\n", (int)(order[i] - table) + 1, order[i]->routine,
                bytes, bytes / (double)order[i]->all.count, 100 * bytes / total);
    }
    free(order);
}

static void write_share(FILE *file, int site, const char *rank, const struct site_share *s)
{
    fprintf(file, "%6d %-28s %6s %10" PRIu64 " %12.2f %12.2f %12.2f %14" PRIu64 "\n", site + 1,
            table[site].routine, rank, s->count, (double)s->least / 1e3,
            (double)s->time / 1e3 / (double)s->count, (double)s->greatest / 1e3, s->bytes);
}

static void write_statistics(FILE *file, int size)
{
    fprintf(file, "\nEach site (µs a call; * is all ranks%s)\n%6s %-28s %6s %10s %12s %12s %12s %14s\n",
            size > COLUMNS ? "" : ", then each", "site", "routine", "rank", "calls", "least", "mean",
            "greatest", "bytes");
    for (int i = 0; i < merged_count; i++) {
        char name[16];
        write_share(file, i, "*", &table[i].all);
        for (int rank = 0; size <= COLUMNS && rank < size; rank++)
            if (snprintf(name, sizeof name, "%d", rank) && table[i].rank[rank].count)
                write_share(file, i, name, &table[i].rank[rank]);
    }
}

static void write_report(char *text, int size)
{
    uint64_t calls_lost = merge(text, size);
    qsort(table, (size_t)merged_count, sizeof *table, by_time);
    resolve_all();
    FILE *file = pse_tool_open_output(0);
    fprintf(
        file,
        "Profile of MPI: %d rank%s, %d call site%s, from the end of MPI_Init to the begin of MPI_Finalize\n",
        size, size == 1 ? "" : "s", merged_count, merged_count == 1 ? "" : "s");
    if (calls_lost)
        fprintf(file, "%" PRIu64 " calls are not counted: there are more call sites than the tool can hold\n",
                calls_lost);
    write_ranks(file, size);
    write_times(file, size);
    write_bytes(file);
    write_sites(file);
    write_statistics(file, size);
    pse_tool_close_output(file);
}

void pse_profile_report(uint64_t began, const char *const routine_names[])
{
    int rank, size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    char *text = collect(rank, size, began, routine_names);
    if (rank == 0)
        write_report(text, size);
    free(text);
}
