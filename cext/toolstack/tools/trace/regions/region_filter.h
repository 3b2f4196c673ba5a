/* Which regions are recorded: a filter file of Score-P's form.
 *
 *     SCOREP_FILE_NAMES_BEGIN          # comment
 *       EXCLUDE * INCLUDE solver.c
 *     SCOREP_FILE_NAMES_END
 *     SCOREP_REGION_NAMES_BEGIN
 *       EXCLUDE get_* MANGLED _ZN3Foo*
 *     SCOREP_REGION_NAMES_END
 *
 * Of the rules of a block the last one that matches decides; a region is recorded if neither block excludes
 * it.  Patterns are those of the shell; a backslash takes the meaning from the character that follows.
 */
#ifndef PSE_TRACE_REGION_FILTER_H
#define PSE_TRACE_REGION_FILTER_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Read the file that `argument filter` names; nonzero: refused. */
int pse_trace_read_filter(void);
/* Whether a region is to be recorded; names that aren't known are "".  `otherwise`: if no rule is for its
 * file. */
bool pse_trace_filter_includes(const char *name, const char *mangled, const char *file, bool otherwise);
/* Whether there are rules for files. */
bool pse_trace_filter_has_files(void);

#pragma GCC visibility pop

#endif
