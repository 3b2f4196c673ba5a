/* Looking at the communicator and the time of each call. */
#include "calls/call_filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calls/argument_registers.h"
#include "calls/thunk.h"
#include "mpi/mpi_library.h"
#include "mpi/routine_table.h"
#include "shims.h"

struct call_filter {
    pse_function inside, below;
    const struct tool_spec *spec; /* communicators and times */
    int communicator;             /* index of the argument; -1: look at the time alone */
    bool fortran;                 /* arguments are addresses */
};

static double started; /* seconds; when the first layer was bound */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool is_timed(const struct tool_spec *spec)
{
    return spec->from > 0 || !isinf(spec->until);
}

/* Communicators ------------------------------------------------------------------------------------------ */

/* What is asked of this MPI in every call, looked up once. */
static struct {
    bool known, ints; /* handles are ints */
    uint64_t world, self, none;
    int (*name)(uint64_t communicator, char *name, int *length);
    uint64_t (*of_fortran)(int handle);
} mpi;

static void learn_mpi(void)
{
    mpi.ints = pse_toolstack_signature_of("MPI_Comm_rank")->letters[1] == 'i';
    mpi.world = pse_toolstack_communicator_constant(0);
    mpi.self = pse_toolstack_communicator_constant(1);
    mpi.none = pse_toolstack_communicator_constant(2);
    mpi.name = (int (*)(uint64_t, char *, int *))pse_toolstack_library_function("MPI_Comm_get_name");
    mpi.of_fortran = (uint64_t (*)(int))pse_toolstack_library_function("MPI_Comm_f2c");
    mpi.known = true;
}

/* A handle is one word of the call's arguments; an int's upper half is undefined there. */
static bool is_handle(uint64_t word, uint64_t constant)
{
    return mpi.ints ? (uint32_t)word == (uint32_t)constant : word == constant;
}

static bool is_called(uint64_t communicator, const char *wanted)
{
    char name[1024];
    int length = 0;
    return mpi.name(communicator, name, &length) == 0 && strcmp(name, wanted) == 0;
}

static bool is_meant(uint64_t communicator, const char *word)
{
    if (strcmp(word, "world") == 0)
        return is_handle(communicator, mpi.world);
    if (strcmp(word, "self") == 0)
        return is_handle(communicator, mpi.self);
    return is_called(communicator, word);
}

static bool is_one_of(uint64_t communicator, const struct word_list *wanted)
{
    if (is_handle(communicator, mpi.none))
        return false;
    for (int i = 0; i < wanted->count; i++)
        if (is_meant(communicator, wanted->word[i]))
            return true;
    return false;
}

/* Where MPI_Comm_f2c is not a function (it is a macro of MPICH 4.0), handles of both languages are alike. */
static uint64_t from_fortran(uint64_t address)
{
    int handle;
    memcpy(&handle, (const void *)(uintptr_t)address, sizeof handle);
    return mpi.of_fortran ? mpi.of_fortran(handle) : (uint32_t)handle;
}

/* Filters --------------------------------------------------------------------------------------------------
 */

#if defined(__x86_64__)
#define REGISTERS 6
#else
#define REGISTERS 8
#endif

/* Called from the entry below: where a call goes. */
pse_function pse_toolstack_filter_decide(const struct call_filter *filter, const uint64_t *registers,
                                         const uint64_t *stack)
{
    const struct tool_spec *spec = filter->spec;
    if (is_timed(spec)) {
        const double time = now() - started;
        if (time < spec->from || time >= spec->until)
            return filter->below;
    }
    if (filter->communicator < 0 || spec->communicators.count == 0)
        return filter->inside;
    const int index = filter->communicator;
    uint64_t word = index < REGISTERS ? registers[index] : stack[index - REGISTERS];
    if (filter->fortran)
        word = from_fortran(word);
    return is_one_of(word, &spec->communicators) ? filter->inside : filter->below;
}

/* Thunks jump here. */
#if defined(__x86_64__)
#define SET_ARGUMENTS "  movq 8(%r10), %rdi\n  movq " PSE_SAVED ", %rsi\n  leaq " PSE_PUSHED ", %rdx\n"
#else
#define SET_ARGUMENTS "  ldr x0, [x17, #8]\n  add x1, " PSE_SAVED "\n  add x2, " PSE_PUSHED "\n"
#endif
PSE_ENTRY("pse_toolstack_filter_entry", SET_ARGUMENTS, "pse_toolstack_filter_decide");
extern void pse_toolstack_filter_entry(void) __attribute__((visibility("hidden")));

/* What the header says of a routine, which may have Fortran's spelling. */
static const struct routine_signature *signature_of(const char *routine)
{
    const struct routine_signature *exact = pse_toolstack_signature_of(routine);
    for (int i = 0; !exact && pse_toolstack_signatures && i < pse_toolstack_signature_count; i++)
        if (pse_toolstack_is_named(routine, pse_toolstack_signatures[i].name))
            exact = &pse_toolstack_signatures[i];
    return exact;
}

static bool add_filter(const struct tool_spec *spec, int routine, pse_function *entry,
                       const pse_function *below)
{
    const struct routine_signature *signature = signature_of(pse_toolstack_routine_name(routine));
    const int communicator = signature ? signature->communicator : -1;
    if (!is_timed(spec) && communicator < 0)
        return true;
    struct call_filter *filter = malloc(sizeof *filter);
    if (!filter)
        return false;
    *filter = (struct call_filter){entry[routine], below[routine], spec, communicator, false};
    filter->fortran = signature && strcmp(signature->name, pse_toolstack_routine_name(routine)) != 0;
    const pse_function thunk = pse_toolstack_make_thunk(pse_toolstack_filter_entry, filter);
    if (thunk)
        entry[routine] = thunk;
    return thunk != NULL;
}

bool pse_toolstack_add_call_filters(const struct tool_spec *spec, pse_function *entry,
                                    const pse_function *below)
{
    bool all = true;
    if (started == 0)
        started = now();
    if (spec->communicators.count == 0 && !is_timed(spec))
        return true;
    if (spec->communicators.count > 0 && !mpi.known)
        learn_mpi();
    for (int i = 0; i < pse_toolstack_routine_count; i++)
        if (entry[i] != below[i] && !pse_toolstack_is_always_seen(pse_toolstack_routine_name(i)))
            all &= add_filter(spec, i, entry, below);
    return all;
}
