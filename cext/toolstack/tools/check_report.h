/* What `check` says: what is wrong, who did it and where, and what would be right.
 *
 * Places travel packed, since only a process that has the object can name it: "P file:line" for Python,
 * "C object offset function+offset" for C, of which the line is looked up when it is told.
 *
 * May touch: standard error; starts addr2line.
 */
#ifndef PSE_CHECK_REPORT_H
#define PSE_CHECK_REPORT_H

#include "check_mail.h"
#include "site.h"

static int reports; /* so far, on this rank */

static void site_pack(char *packed)
{
    struct site site;
    Dl_info found;
    packed[0] = '\0';
    site_take(&site);
    if (site.python[0])
        snprintf(packed, SITE_TEXT, "P %.190s", site.python);
    else if (site.address && dladdr(site.address, &found) && found.dli_fname)
        snprintf(packed, SITE_TEXT, "C %.150s %#lx", found.dli_fname,
                 (unsigned long)((char *)site.address - (char *)found.dli_fbase));
}

static void place_text(const char *packed, char *text, size_t room)
{
    char object[SITE_TEXT];
    unsigned long offset;
    if (packed[0] == 'P') {
        snprintf(text, room, "%s", packed + 2);
    } else if (sscanf(packed, "C %199s %lx", object, &offset) == 2) {
        Dl_info info = {.dli_fname = object, .dli_fbase = NULL};
        if (!site_line(&info, (void *)offset, text, room))
            snprintf(text, room, "%s+%#lx", strrchr(object, '/') ? strrchr(object, '/') + 1 : object, offset);
    } else {
        snprintf(text, room, "an unknown place");
    }
}

/* A report is one piece of text, so that reports of several ranks don't mix. */
struct report {
    char text[8192];
    size_t length;
};

static void __attribute__((format(printf, 2, 3))) add(struct report *report, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (report->length < sizeof report->text)
        report->length += (size_t)vsnprintf(report->text + report->length,
                                            sizeof report->text - report->length, format, values);
    va_end(values);
}

static void add_place(struct report *report, int rank, const char *routine, const char *details,
                      const char *where)
{
    char place[PATH_MAX];
    place_text(where, place, sizeof place);
    add(report, "  rank %d: %s%s, at %s\n", rank, routine, details, place);
}

enum { WIDTH = 79 };

/* In lines of a terminal's width. */
static void add_words(struct report *report, const char *head, const char *words)
{
    size_t column = strlen(head);
    add(report, "%s", head);
    for (const char *word = words; *word;) {
        const size_t length = strcspn(word, " ");
        if (column + 1 + length > WIDTH) {
            add(report, "\n%*s", (int)strlen(head), "");
            column = strlen(head);
        }
        add(report, " %.*s", (int)length, word);
        column += 1 + length;
        word += length + strspn(word + length, " ");
    }
    add(report, "\n");
}

static void tell(struct report *report, const char *right)
{
    add_words(report, "  right:", right);
    fputs(report->text, stderr);
    fflush(stderr);
    reports++;
}

/* A report is told once for each pair of places. */
static bool told_before(const char *what, const char *a, const char *b)
{
    static uint64_t told[256];
    static size_t count;
    uint64_t hash = 0xcbf29ce484222325u;
    const char *const texts[] = {what, a, b};
    for (int i = 0; i < 3; i++)
        for (const char *at = texts[i]; *at; at++)
            hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    for (size_t i = 0; i < count; i++)
        if (told[i] == hash)
            return true;
    if (count < sizeof told / sizeof *told)
        told[count++] = hash;
    return false;
}

#endif
