/* Memory that a tool can't go on without: where there is none, it says so and the job ends. */
#ifndef PSE_TOOL_MEMORY_H
#define PSE_TOOL_MEMORY_H

#include <stddef.h>
#include <stdio.h>

/* So many bytes, all zero. */
void *pse_tool_memory(size_t bytes);

/* So many in place of `old`, whose content they begin with; the others have any values. */
void *pse_tool_more_memory(void *old, size_t bytes);

/* A copy of a text. */
char *pse_tool_text(const char *text);

/* Write a text of any length: `*text`, to be freed, and `*size` are valid once the stream is closed. */
FILE *pse_tool_open_text(char **text, size_t *size);
void pse_tool_close_text(FILE *stream);

#endif
