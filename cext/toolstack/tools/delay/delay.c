/* delay: makes chosen routines of MPI take longer, to see what a slower network or a late rank would do.
 *
 * Arguments: microseconds (before each call), routines (their names, parted by blanks; all if it isn't given;
 * a name means both forms, MPI_Send and MPI_Send_c), every (only every n-th of their calls). The pause
 * is slept; only its last microseconds are spent awake, since a sleeper wakes up late. */
#include "abi_environment.h"
#include "clock.h"
#include "tool.h"

#define TOOL_ENTER(routine) pause_before(NUMBER_##routine);
#define TOOL_LEAVE(routine)

static inline void pause_before(int routine);

#include "delay_wrappers.c"

static unsigned char chosen[ROUTINES];
static uint64_t nanoseconds, every = 1, calls;

/* What is left of a pause when it isn't slept any more. */
#define AWAKE 5000u

static void pause_here(void)
{
    uint64_t end = pse_clock() + nanoseconds;
    if (nanoseconds > AWAKE)
        pse_clock_sleep_until(end - AWAKE);
    while (pse_clock() < end)
        ;
}

static inline void pause_before(int routine)
{
    if (chosen[routine] && (every == 1 || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % every == 0))
        pause_here();
}

/* Choose a routine in both of its forms; how many were found. */
static int choose(const char *name, size_t length)
{
    int found = 0;
    for (int routine = 0; routine < ROUTINES; routine++) {
        const char *known = routine_names[routine];
        if (strncmp(known, name, length) == 0 && (!known[length] || strcmp(known + length, "_c") == 0))
            found += chosen[routine] = 1;
    }
    return found;
}

static int choose_all(const char *names)
{
    for (names += strspn(names, " \t,"); *names; names += strspn(names, " \t,")) {
        size_t length = strcspn(names, " \t,");
        if (!choose(names, length))
            return pse_tool_refuse(
                "`argument routines`: this MPI has no routine `%.*s`: write names as in C (MPI_Send)",
                (int)length, names);
        names += length;
    }
    return 0;
}

/* A number from least to 1e9; -1 if the text is none, or there is none. */
static double number(const char *text, double least)
{
    char *end = NULL;
    double value = text ? strtod(text, &end) : -1;
    return text && end != text && !*end && value >= least && value <= 1e9 ? value : -1;
}

static int configure(void)
{
    const char *text = pse_tool_argument("microseconds"), *names = pse_tool_argument("routines");
    const char *often = pse_tool_argument("every");
    const double value = number(text, 0), step = often ? number(often, 1) : 1;
    if (!text)
        return pse_tool_refuse(
            "the length of the pauses is missing: give it as `argument microseconds NUMBER`");
    if (value < 0)
        return pse_tool_refuse_argument("microseconds", text, "a number from 0 to 1e9");
    if (step < 1 || step != (double)(uint64_t)step)
        return pse_tool_refuse_argument("every", often, "a whole number from 1 to 1e9");
    nanoseconds = (uint64_t)(value * 1000);
    every = (uint64_t)step;
    if (names)
        return choose_all(names);
    memset(chosen, 1, sizeof chosen);
    return 0;
}

TOOL_PUBLIC int pse_tool_start(const struct pse_tools *table)
{
    pse_tool_stack = table;
    return configure();
}

/* Without the stack nobody calls pse_tool_start. */
__attribute__((constructor)) static void start_alone(void)
{
    if (!getenv(PSE_TOOLS_VARIABLE) && pse_tool_argument("microseconds"))
        configure();
}
