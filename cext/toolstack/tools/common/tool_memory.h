/* Memory that a tool can't go on without: where there is none, it says so and the job ends. */
#ifndef PSE_TOOL_MEMORY_H
#define PSE_TOOL_MEMORY_H

#include <stddef.h>

/* So many bytes, all zero. */
void *pse_tool_memory(size_t bytes);

/* So many in place of `old`, whose content they begin with; the others have any values. */
void *pse_tool_more_memory(void *old, size_t bytes);

/* A copy of a text. */
char *pse_tool_text(const char *text);

#endif
