/* Reading configurations, and finding the files of tools. */
#include "config/config.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi_environment.h"
#include "mpi/mpi_library.h"
#include "mpi/routine_table.h"

struct config_reader {
    struct stack_config *config;
    struct tool_spec *spec; /* the module that directives belong to */
    int line;
    char *error;
    size_t size;
};

static bool wrong(struct config_reader *reader, const char *help, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where the reader is, as messages name it; NULL without memory. */
static char *place_of(const struct config_reader *reader)
{
    const struct stack_config *config = reader->config;
    char *place;
    if (config->origin)
        return strdup(config->origin);
    return asprintf(&place, "%s:%d", config->file, reader->line) < 0 ? NULL : place;
}

/* What is wrong in the line at hand and, in a line of its own, what to write there. */
static bool wrong(struct config_reader *reader, const char *help, const char *format, ...)
{
    va_list rest;
    char *what = NULL, *place = place_of(reader);
    va_start(rest, format);
    if (vasprintf(&what, format, rest) < 0)
        what = NULL;
    va_end(rest);
    snprintf(reader->error, reader->size, "%s: %s\nhelp: %s", place ? place : reader->config->file,
             what ? what : format, help);
    free(place);
    free(what);
    return false;
}

static bool no_memory(struct config_reader *reader)
{
    return wrong(reader, "look at the limits of this shell (ulimit -a)",
                 "there is no memory for the tools that are listed here");
}

/* The next word, or what stands in quotes, and what follows; "" at the end. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    const bool quoted = *word == '"' && strchr(word + 1, '"');
    word += quoted;
    *rest = word + strcspn(word, quoted ? "\"" : " \t");
    if (**rest)
        *(*rest)++ = '\0';
    return word;
}

static bool add(struct word_list *words, const char *word)
{
    char **longer = realloc(words->word, ((size_t)words->count + 1) * sizeof *longer);
    if (!longer || !(longer[words->count] = strdup(word)))
        return false;
    words->word = longer;
    words->count++;
    return true;
}

static bool all_words(struct config_reader *reader, struct word_list *words, char *rest, const char *what,
                      const char *help)
{
    const int before = words->count;
    for (char *word = next_word(&rest); *word; word = next_word(&rest))
        if (!add(words, word))
            return no_memory(reader);
    return words->count > before || wrong(reader, help, "%s", what);
}

/* Directives
 * -------------------------------------------------------------------------------------------------------- */

static struct tool_spec *find_instance(const struct stack_config *config, const char *name)
{
    for (int i = 0; i < config->count; i++)
        if (strcmp(config->spec[i].name, name) == 0)
            return &config->spec[i];
    return NULL;
}

/* The name of an instance that has been given none: the file's, without directory, `lib` and `.so`. */
static char *default_name(const struct stack_config *config, const char *wanted)
{
    const char *slash = strrchr(wanted, '/'), *base = slash ? slash + 1 : wanted;
    base += strncmp(base, "lib", 3) == 0 && base[3] ? 3 : 0;
    const int length = (int)strcspn(base, ".");
    char *name = NULL;
    for (int number = 1; number == 1 || find_instance(config, name); number++) {
        free(name);
        if (number == 1 ? asprintf(&name, "%.*s", length, base) < 0
                        : asprintf(&name, "%.*s-%d", length, base, number) < 0)
            return NULL;
    }
    return name;
}

static bool read_module(struct config_reader *reader, char *rest)
{
    struct stack_config *config = reader->config;
    const char *wanted = next_word(&rest), *as = next_word(&rest), *instance = next_word(&rest);
    if (!*wanted || (*as && (strcmp(as, "as") != 0 || !*instance)) || *next_word(&rest))
        return wrong(reader, "write `module NAME` or `module /path/to/tool.so`; `as INSTANCE` may follow",
                     "a `module` line names one tool");
    const struct tool_spec *other = *as ? find_instance(config, instance) : NULL;
    if (other)
        return wrong(reader, "write another name behind `as`",
                     "the name `%s` is taken by the module of line %d", instance, other->line);
    struct tool_spec *longer = realloc(config->spec, ((size_t)config->count + 1) * sizeof *longer);
    if (!longer)
        return no_memory(reader);
    config->spec = longer;
    reader->spec = longer + config->count;
    *reader->spec = (struct tool_spec){
        .file = config->file, .line = reader->line, .wanted = strdup(wanted), .until = INFINITY};
    reader->spec->name = *as ? strdup(instance) : default_name(config, wanted);
    reader->spec->place = place_of(reader);
    if (!reader->spec->wanted || !reader->spec->name || !reader->spec->place)
        return no_memory(reader);
    config->count++;
    return true;
}

/* The rest of the line is the value; quotes keep blanks at its ends and a `#`. */
static bool read_argument(struct config_reader *reader, char *rest)
{
    const char *key = next_word(&rest);
    char *value = rest + strspn(rest, " \t");
    size_t length = strlen(value);
    if (!*key || !length)
        return wrong(reader, "write `argument KEY VALUE`", "`argument` needs a key and a value");
    if (length > 1 && value[0] == '"' && value[length - 1] == '"') {
        value[length - 1] = '\0';
        value++;
    }
    for (int i = 0; i < reader->spec->keys.count; i++)
        if (strcmp(reader->spec->keys.word[i], key) == 0)
            return wrong(reader, "remove one of the two lines", "the argument `%s` is given twice", key);
    return (add(&reader->spec->keys, key) && add(&reader->spec->values, value)) || no_memory(reader);
}

static bool read_routines(struct config_reader *reader, struct word_list *words, char *rest)
{
    if (!all_words(reader, words, rest, "names of MPI routines are missing",
                   "name them in the same line: only MPI_Send MPI_Recv"))
        return false;
    for (int i = 0; i < words->count; i++)
        if (pse_toolstack_find(words->word[i]) < 0)
            return wrong(reader, "write names as in C (MPI_Send)", "this MPI has no routine `%s`",
                         words->word[i]);
    return true;
}

static bool read_seconds(struct config_reader *reader, double *seconds, char *rest)
{
    static const char help[] = "write one number: `from 0.5` begins half a second after the first MPI call";
    char *end;
    const char *word = next_word(&rest);
    *seconds = strtod(word, &end);
    if (!*word)
        return wrong(reader, help, "a number of seconds is missing");
    if (*end || !(*seconds >= 0) || *next_word(&rest))
        return wrong(reader, help, "expected one number of seconds, not `%s`", word);
    if (reader->spec->until <= reader->spec->from)
        return wrong(reader, "write a later time behind `until`",
                     "the tool would see no call: `until %g` is not later than `from %g`",
                     reader->spec->until, reader->spec->from);
    return true;
}

static bool read_communicators(struct config_reader *reader, char *rest)
{
    static const char help[] = "write `world`, `self`, or names that were given with MPI_Comm_set_name";
    struct word_list *words = &reader->spec->communicators;
    if (!all_words(reader, words, rest, "`communicator` needs at least one communicator", help))
        return false;
    for (int i = 0; i < words->count; i++)
        if (words->word[i][strspn(words->word[i], "0123456789")] == '\0')
            return wrong(reader, help, "communicators are told apart by names, not by numbers such as `%s`",
                         words->word[i]);
    return true;
}

static const char directives[] =
    "the directives are module, argument, optional, only, except, communicator, from, until, sees-tools";

static bool is_known(const char *directive)
{
    const size_t length = strlen(directive);
    const char *at = strpbrk(directive, ", ") ? NULL : strstr(directives, "module");
    for (; at && (at = strstr(at, directive)); at++)
        if (at[-1] == ' ' && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

/* What follows a `module`. */
static bool read_property(struct config_reader *reader, const char *directive, char *rest)
{
    struct tool_spec *spec = reader->spec;
    if (strcmp(directive, "argument") == 0)
        return read_argument(reader, rest);
    if (strcmp(directive, "only") == 0)
        return read_routines(reader, &spec->only, rest);
    if (strcmp(directive, "except") == 0)
        return read_routines(reader, &spec->except, rest);
    if (strcmp(directive, "communicator") == 0)
        return read_communicators(reader, rest);
    if (strcmp(directive, "from") == 0)
        return read_seconds(reader, &spec->from, rest);
    if (strcmp(directive, "until") == 0)
        return read_seconds(reader, &spec->until, rest);
    const char *word = next_word(&rest);
    if (strcmp(directive, "optional") == 0) {
        spec->optional = true;
        return !*word || wrong(reader, "remove what follows it", "nothing may follow `optional` in its line");
    }
    spec->hides = strcmp(word, "no") == 0;
    return ((spec->hides || strcmp(word, "yes") == 0) && !*next_word(&rest)) ||
           wrong(reader, "write `sees-tools yes` or `sees-tools no`",
                 "`sees-tools` is followed by either `yes` or `no`");
}

static bool read_directive(struct config_reader *reader, const char *directive, char *rest)
{
    if (strcmp(directive, "origin") == 0 && reader->line == 1)
        return (reader->config->origin = strdup(rest)) || no_memory(reader);
    if (!is_known(directive))
        return wrong(reader, directives, "unknown directive `%s`", directive);
    if (strcmp(directive, "module") == 0)
        return read_module(reader, rest);
    if (!reader->spec)
        return wrong(reader, "write `module NAME` in a line above",
                     "`%s` must come after the `module` line that it belongs to", directive);
    return read_property(reader, directive, rest);
}

/* Lines
 * -------------------------------------------------------------------------------------------------------------
 */

/* Cut a comment and the blanks before it: a `#` at the line's beginning or after a blank, outside quotes. */
static void strip(char *line)
{
    bool quoted = false;
    size_t end = 0;
    for (; line[end] && line[end] != '\n' && line[end] != '\r'; end++) {
        quoted ^= line[end] == '"';
        if (line[end] == '#' && !quoted && (end == 0 || strchr(" \t", line[end - 1])))
            break;
    }
    while (end > 0 && strchr(" \t", line[end - 1]))
        end--;
    line[end] = '\0';
}

static bool is_open(const char *line)
{
    bool quoted = false;
    for (; *line; line++)
        quoted ^= *line == '"';
    return quoted;
}

static bool read_line(struct config_reader *reader, char *line)
{
    strip(line);
    char *rest = line, *directive = next_word(&rest);
    if (strcmp(directive, "argument") != 0 && is_open(rest))
        return wrong(reader, "write the other quotation mark in the same line",
                     "a quotation mark is not closed: %s", strchr(rest, '"'));
    return !*directive || read_directive(reader, directive, rest);
}

static bool read_lines(struct config_reader *reader, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    while (good && getline(&line, &room, file) >= 0) {
        reader->line++;
        good = read_line(reader, line);
    }
    free(line);
    return good;
}

/* Where tools are
 * --------------------------------------------------------------------------------------------------- */

static char *existing(const char *directory, int length, const char *before, const char *name,
                      const char *after)
{
    char *path = NULL;
    if (asprintf(&path, "%.*s/%s%s%s", length, directory, before, name, after) < 0)
        return NULL;
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static char *in_directory(const char *directory, int length, const char *name)
{
    char *path = existing(directory, length, "", name, ".so");
    if (!path)
        path = existing(directory, length, "lib", name, ".so");
    return path ? path : existing(directory, length, "", name, "");
}

static char *search(const char *name)
{
    const char *directory = getenv(PSE_TOOLS_PATH_VARIABLE);
    while (directory && *directory) {
        const int length = (int)strcspn(directory, ":");
        char *path = length ? in_directory(directory, length, name) : NULL;
        if (path)
            return path;
        directory += length + (directory[length] == ':');
    }
    return in_directory(pse_toolstack_shipped, (int)strlen(pse_toolstack_shipped), name);
}

/* A path that isn't absolute is relative to the configuration. */
static void locate(struct tool_spec *spec)
{
    const char *slash = strrchr(spec->file, '/');
    if (!strchr(spec->wanted, '/'))
        spec->path = search(spec->wanted);
    else if (spec->wanted[0] == '/' || !slash)
        spec->path = strdup(spec->wanted);
    else
        spec->path = existing(spec->file, (int)(slash - spec->file), "",
                              spec->wanted + 2 * (strncmp(spec->wanted, "./", 2) == 0), "");
}

const char *pse_toolstack_not_found(const struct tool_spec *spec)
{
    static char words[2048];
    if (strchr(spec->wanted, '/'))
        snprintf(words, sizeof words,
                 "there is no file %s (a relative path is relative to the configuration's directory)",
                 spec->wanted);
    else if (*pse_toolstack_missing_tools)
        snprintf(
            words, sizeof words,
            "there is no tool `%s` in the directories of PSE_TOOLS_PATH, and the tools that come with pse "
            "are missing: %s",
            spec->wanted, pse_toolstack_missing_tools);
    else
        snprintf(words, sizeof words,
                 "there is no tool `%s` in the directories of PSE_TOOLS_PATH or in %s; `pse tools list` "
                 "names all tools",
                 spec->wanted, pse_toolstack_shipped);
    return words;
}

/* A directory can be opened, but not read. */
static bool read_file(struct config_reader *reader)
{
    errno = 0;
    FILE *opened = fopen(reader->config->file, "re");
    const bool good = opened && read_lines(reader, opened), read = opened && !ferror(opened);
    if (!read)
        snprintf(reader->error, reader->size, "%s: the configuration of the tool stack can't be read: %s",
                 reader->config->file, strerror(errno));
    if (opened)
        fclose(opened);
    return good && read;
}

bool pse_toolstack_read_config(struct stack_config *config, const char *file, char *error, size_t size)
{
    struct config_reader reader = {.config = config, .error = error, .size = size};
    /* A copy: later warnings name the file when the caller's text may be gone. */
    *config = (struct stack_config){.file = strdup(file)};
    if (!config->file) {
        snprintf(error, size, "%s: there is no memory to read it", file);
        return false;
    }
    const bool good = read_file(&reader);
    for (int i = 0; good && i < config->count; i++)
        locate(&config->spec[i]);
    return good;
}
