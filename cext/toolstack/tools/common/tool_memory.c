/* Memory, or the end of the job. */
#define _GNU_SOURCE
#include "tool_memory.h"

#include "abort_job.h"
#include "tool.h"

static _Noreturn void end_job(size_t bytes)
{
    pse_tool_warn("there is no memory for %zu bytes that this tool needs: the job ends; run fewer ranks on a "
                  "node, or leave the tool out",
                  bytes);
    pse_tool_abort_job(1);
}

static void *check(void *memory, size_t bytes)
{
    if (!memory)
        end_job(bytes);
    return memory;
}

void *pse_tool_memory(size_t bytes)
{
    return check(calloc(1, bytes ? bytes : 1), bytes);
}

void *pse_tool_more_memory(void *old, size_t bytes)
{
    return check(realloc(old, bytes ? bytes : 1), bytes);
}

char *pse_tool_text(const char *text)
{
    return check(strdup(text), strlen(text) + 1);
}

FILE *pse_tool_open_text(char **text, size_t *size)
{
    return check(open_memstream(text, size), BUFSIZ);
}

void pse_tool_close_text(FILE *stream)
{
    const long bytes = ftell(stream);
    if (fclose(stream) != 0)
        end_job(bytes < 0 ? BUFSIZ : (size_t)bytes);
}
