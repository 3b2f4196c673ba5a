/* Arguments, messages and summaries of tools. */
#define _GNU_SOURCE
#include "tool.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>

const struct pse_tools *pse_tool_stack;

/* A tool that is loaded alone has the name of its object. */
static const char *own_name(void)
{
    static char name[32];
    Dl_info object;
    if (!name[0] && dladdr(name, &object) && object.dli_fname) {
        const char *slash = strrchr(object.dli_fname, '/'), *base = slash ? slash + 1 : object.dli_fname;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
    }
    return name;
}

const char *pse_tool_argument(const char *key)
{
    if (pse_tool_stack)
        return pse_tool_stack->argument(pse_tool_stack->self, key);
    char name[64];
    const int length = snprintf(name, sizeof name, "PSE_%s_%s", own_name(), key);
    for (int i = 0; i < length && i < (int)sizeof name; i++)
        name[i] = (char)toupper((unsigned char)name[i]);
    return getenv(name);
}

int pse_tool_refuse(const char *format, ...)
{
    char text[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (pse_tool_stack) {
        pse_tool_stack->fail(pse_tool_stack->self, "%s", text);
        return 1;
    }
    fprintf(stderr, "%s: %s\n", own_name(), text);
    exit(2);
}

int pse_tool_refuse_argument(const char *key, const char *value, const char *expected, ...)
{
    char text[512];
    va_list values;
    va_start(values, expected);
    vsnprintf(text, sizeof text, expected, values);
    va_end(values);
    return pse_tool_refuse("`argument %s %s`: expected %s", key, value, text);
}

int pse_tool_choose(const char *key, const char *first, const char *second, bool *is_first)
{
    const char *word = pse_tool_argument(key);
    if (word && strcmp(word, first) != 0 && strcmp(word, second) != 0)
        return pse_tool_refuse_argument(key, word, "%s or %s", first, second);
    if (word)
        *is_first = strcmp(word, first) == 0;
    return 0;
}

void pse_tool_warn(const char *format, ...)
{
    char text[2048];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (pse_tool_stack)
        pse_tool_stack->say(pse_tool_stack->self, "%s", text);
    else
        fprintf(stderr, "%s: %s\n", own_name(), text);
}

void pse_tool_expect_output(void)
{
    pse_tool_argument("output");
}

FILE *pse_tool_open_output(int rank)
{
    const char *output = pse_tool_argument("output");
    if (!output)
        return stderr;
    char path[4096];
    const char *mark = strstr(output, "%r");
    if (mark)
        snprintf(path, sizeof path, "%.*s%d%s", (int)(mark - output), output, rank, mark + 2);
    else
        snprintf(path, sizeof path, "%s", output);
    FILE *file = fopen(path, "w");
    if (!file)
        pse_tool_warn("can't write %s: %s; the summary goes to standard error", path, strerror(errno));
    return file ? file : stderr;
}

void pse_tool_close_output(FILE *file)
{
    if (file == stderr)
        fflush(file);
    else if (fclose(file) != 0)
        pse_tool_warn("can't write all of the summary: %s", strerror(errno));
}

bool pse_tool_was_spawned(void)
{
    MPI_Comm parent;
    PMPI_Comm_get_parent(&parent);
    return parent != MPI_COMM_NULL;
}
