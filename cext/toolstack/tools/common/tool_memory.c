/* Memory, or the end of the job. */
#include "tool_memory.h"

#include "abort_job.h"
#include "tool.h"

static void *check(void *memory, size_t bytes)
{
    if (memory)
        return memory;
    pse_tool_warn("there is no memory for %zu bytes that this tool needs: the job ends; run fewer ranks on a "
                  "node, or leave the tool out",
                  bytes);
    pse_tool_abort_job(1);
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
