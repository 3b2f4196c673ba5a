/* What `check` says: what is wrong, who did it and where, and what would be right.
 *
 * Places travel packed, since only a process that has the object can name it: "P file:line" for Python,
 * "C object offset function+offset" for C, of which the line is looked up when it is told.
 */
#ifndef PSE_CHECK_REPORT_H
#define PSE_CHECK_REPORT_H

#include <stdbool.h>
#include <stddef.h>

/* A report is one piece of text, so that reports of several ranks don't mix. */
struct check_report {
    char text[8192];
    size_t length;
};

/* The place where the program called MPI, packed; room for PSE_CALL_SITE_TEXT. */
void pse_check_pack_site(char *packed);
void pse_check_report_add(struct check_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pse_check_report_place(struct check_report *report, int rank, const char *routine, const char *details,
                            const char *where);
/* Print the report, with what would be right as its last line. */
void pse_check_report_print(struct check_report *report, const char *right);
/* A report is told once for each pair of places. */
bool pse_check_was_reported(const char *what, const char *a, const char *b);

#endif
