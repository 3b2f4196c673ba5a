/* Reports: packed places, text of a terminal's width, each told once. */
#define _GNU_SOURCE
#include "report.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "call_site.h"
#include "tool.h"

void pse_check_pack_site(char *packed)
{
    struct pse_call_site site;
    Dl_info found;
    packed[0] = '\0';
    pse_call_site_take(&site);
    if (site.python[0])
        snprintf(packed, PSE_CALL_SITE_TEXT, "P %.190s", site.python);
    else if (site.address && dladdr(site.address, &found) && found.dli_fname)
        snprintf(packed, PSE_CALL_SITE_TEXT, "C %.150s %#lx", found.dli_fname,
                 (unsigned long)((char *)site.address - (char *)found.dli_fbase));
}

static void place_text(const char *packed, char *text, size_t room)
{
    char object[PSE_CALL_SITE_TEXT];
    unsigned long offset;
    if (packed[0] == 'P') {
        snprintf(text, room, "%s", packed + 2);
    } else if (sscanf(packed, "C %199s %lx", object, &offset) == 2) {
        if (!pse_source_line_text(object, offset, text, room))
            snprintf(text, room, "%s+%#lx", strrchr(object, '/') ? strrchr(object, '/') + 1 : object, offset);
    } else {
        snprintf(text, room, "an unknown place");
    }
}

void pse_check_report_add(struct check_report *report, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (report->length < sizeof report->text)
        report->length += (size_t)vsnprintf(report->text + report->length,
                                            sizeof report->text - report->length, format, values);
    va_end(values);
}

void pse_check_report_place(struct check_report *report, int rank, const char *routine, const char *details,
                            const char *where)
{
    char place[PATH_MAX];
    place_text(where, place, sizeof place);
    pse_check_report_add(report, "  rank %d: %s%s, at %s\n", rank, routine, details, place);
}

enum { WIDTH = 79 };

/* In lines of a terminal's width. */
static void add_words(struct check_report *report, const char *head, const char *words)
{
    size_t column = strlen(head);
    pse_check_report_add(report, "%s", head);
    for (const char *word = words; *word;) {
        const size_t length = strcspn(word, " ");
        if (column + 1 + length > WIDTH) {
            pse_check_report_add(report, "\n%*s", (int)strlen(head), "");
            column = strlen(head);
        }
        pse_check_report_add(report, " %.*s", (int)length, word);
        column += 1 + length;
        word += length + strspn(word + length, " ");
    }
    pse_check_report_add(report, "\n");
}

void pse_check_report_print(struct check_report *report, const char *right)
{
    add_words(report, "  expected:", right);
    fputs(report->text, stderr);
    fflush(stderr);
}

bool pse_check_was_reported(const char *what, const char *a, const char *b)
{
    static uint64_t told[256];
    static size_t count;
    uint64_t hash = PSE_HASH;
    const char *const texts[] = {what, a, b};
    for (int i = 0; i < 3; i++)
        hash = pse_hash(hash, texts[i], strlen(texts[i]));
    for (size_t i = 0; i < count; i++)
        if (told[i] == hash)
            return true;
    if (count < sizeof told / sizeof *told)
        told[count++] = hash;
    return false;
}
