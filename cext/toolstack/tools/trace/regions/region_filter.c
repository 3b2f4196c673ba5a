/* Reading and using the filter file. */
#include "regions/region_filter.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum block { NO_BLOCK, FILES, REGIONS };
enum verb { NO_VERB, EXCLUDE, INCLUDE };

static struct rule {
    enum block block;
    enum verb verb;
    bool is_mangled;
    char *pattern;
} *rules;
static size_t rule_count;

/* The state of reading: `text` is overwritten by the words that are taken from it. */
struct reading {
    char *at;
    int line, opened; /* of the word; of the block */
    enum block block;
    enum verb verb;
    bool is_mangled;
};

/* The next word, ended by a zero; NULL at the end. */
static char *next_word(struct reading *reading)
{
    static char after; /* what the zero has overwritten */
    char *at = reading->at;
    if (after)
        *at = after;
    after = '\0';
    for (; *at && (isspace((unsigned char)*at) || *at == '#'); at++) {
        if (*at == '#')
            at += strcspn(at, "\n");
        reading->line += *at == '\n';
        if (!*at)
            return NULL;
    }
    char *word = at;
    while (*at && !isspace((unsigned char)*at) && *at != '#')
        at += at[0] == '\\' && at[1] ? 2 : 1;
    reading->at = at;
    after = *at;
    *at = '\0';
    return *word ? word : NULL;
}

static const char *add_rule(const struct reading *reading, const char *pattern)
{
    struct rule *larger = realloc(rules, (rule_count + 1) * sizeof *rules);
    if (!larger)
        return "there is no memory for it";
    rules = larger;
    rules[rule_count] = (struct rule){reading->block, reading->verb, reading->is_mangled, strdup(pattern)};
    return rules[rule_count++].pattern ? NULL : "there is no memory for it";
}

static const char *begin_or_end(struct reading *reading, const char *word)
{
    static const char *const words[] = {"SCOREP_FILE_NAMES_BEGIN", "SCOREP_REGION_NAMES_BEGIN",
                                        "SCOREP_FILE_NAMES_END", "SCOREP_REGION_NAMES_END"};
    int which = 0;
    while (which < 4 && strcmp(word, words[which]) != 0)
        which++;
    const enum block block = which % 2 ? REGIONS : FILES;
    if (which == 4)
        return "is not the begin or end of a block: write SCOREP_REGION_NAMES_BEGIN … "
               "SCOREP_REGION_NAMES_END, "
               "or the same with FILE";
    if (which < 2 ? reading->block != NO_BLOCK : reading->block != block)
        return which < 2 ? "is inside of another block, which has no end" : "ends a block that has no begin";
    reading->block = which < 2 ? block : NO_BLOCK;
    reading->verb = NO_VERB;
    reading->is_mangled = false;
    reading->opened = reading->line;
    return NULL;
}

/* A name like operator""_s has quotes inside; no name has them around it. */
static bool is_quoted(const char *word)
{
    const size_t length = strlen(word);
    return length > 1 && (*word == '"' || *word == '\'') && word[length - 1] == *word;
}

/* What is wrong with a word; NULL: nothing. */
static const char *take_word(struct reading *reading, const char *word)
{
    const bool is_exclude = strcmp(word, "EXCLUDE") == 0;
    if (strncmp(word, "SCOREP_", 7) == 0 || reading->block == NO_BLOCK)
        return begin_or_end(reading, word);
    if (is_exclude || strcmp(word, "INCLUDE") == 0) {
        reading->verb = is_exclude ? EXCLUDE : INCLUDE;
        reading->is_mangled = false;
        return NULL;
    }
    if (reading->verb == NO_VERB)
        return "is a pattern without EXCLUDE or INCLUDE before it";
    if (is_quoted(word))
        return "has quotes around it, which would be looked for in names: write it without them";
    if (strcmp(word, "MANGLED") != 0)
        return add_rule(reading, word);
    reading->is_mangled = true;
    return reading->block == REGIONS ? NULL : "is for names of regions: files have no mangled names";
}

/* Nothing of a file may move a terminal's cursor. */
static char *shown(char *word)
{
    for (char *at = word; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    return word;
}

static int take_words(const char *path, char *text)
{
    static const char mark[] = "\xef\xbb\xbf"; /* Windows' editors write it before a text. */
    const bool is_marked = strncmp(text, mark, strlen(mark)) == 0;
    struct reading reading = {.at = text + (is_marked ? strlen(mark) : 0), .line = 1};
    const char *wrong;
    char *word;
    while ((word = next_word(&reading)) != NULL)
        if ((wrong = take_word(&reading, word)) != NULL)
            return pse_tool_refuse("%s:%d: `%s` %s", path, reading.line, shown(word), wrong);
    if (reading.block == NO_BLOCK)
        return 0;
    return pse_tool_refuse("%s:%d: the block that begins here has no end: write SCOREP_%s_NAMES_END", path,
                           reading.opened, reading.block == FILES ? "FILE" : "REGION");
}

int pse_trace_read_filter(void)
{
    const char *path = pse_tool_argument("filter");
    if (!path || !*path)
        return 0;
    char *text = NULL;
    size_t room = 0;
    errno = 0;
    FILE *file = fopen(path, "r");
    const ssize_t length = file ? getdelim(&text, &room, '\0', file) : -1;
    if (file)
        fclose(file);
    if (length < 0 && errno)
        return pse_tool_refuse("argument filter: %s can't be read: %s", path, strerror(errno));
    const int refused = length > 0 ? take_words(path, text) : 0;
    free(text);
    return refused;
}

bool pse_trace_filter_has_files(void)
{
    for (size_t i = 0; i < rule_count; i++)
        if (rules[i].block == FILES)
            return true;
    return false;
}

static bool matches(const struct rule *rule, const char *name)
{
    return *name && fnmatch(rule->pattern, name, 0) == 0;
}

/* A pattern without a slash is also for the name without its folders. */
static bool matches_file(const struct rule *rule, const char *file)
{
    const char *slash = strrchr(file, '/');
    return matches(rule, file) || (slash && !strchr(rule->pattern, '/') && matches(rule, slash + 1));
}

bool pse_trace_filter_includes(const char *name, const char *mangled, const char *file, bool otherwise)
{
    bool by_file = otherwise, by_name = true;
    for (const struct rule *rule = rules; rule < rules + rule_count; rule++)
        if (rule->block == FILES && matches_file(rule, file))
            by_file = rule->verb == INCLUDE;
        else if (rule->block == REGIONS && matches(rule, rule->is_mangled ? mangled : name))
            by_name = rule->verb == INCLUDE;
    return by_file && by_name;
}
