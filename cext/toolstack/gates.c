/* Gates: layers that see some communicators, or some of the time, only.
 *
 * A gate is a thunk before the layer's own function; it looks at each call and sends it into the layer or
 * around it. A layer without such filters has no gates.
 */
#include "registers.h"
#include "wrap.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

struct gate {
    pse_function inside, below;
    const struct pse_spec *spec; /* communicators and times */
    int communicator;            /* index of the argument; -1: look at the time alone */
    bool fortran;                /* arguments are addresses */
};

static double started; /* seconds; when the first layer was bound */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool is_timed(const struct pse_spec *spec)
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
    mpi.ints = pse_signature_of("MPI_Comm_rank")->letters[1] == 'i';
    mpi.world = pse_communicator_constant(0);
    mpi.self = pse_communicator_constant(1);
    mpi.none = pse_communicator_constant(2);
    mpi.name = (int (*)(uint64_t, char *, int *))pse_library("MPI_Comm_get_name");
    mpi.of_fortran = (uint64_t (*)(int))pse_library("MPI_Comm_f2c");
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

static bool is_one_of(uint64_t communicator, const struct pse_words *wanted)
{
    if (is_handle(communicator, mpi.none))
        return false;
    for (int i = 0; i < wanted->count; i++)
        if (is_meant(communicator, wanted->word[i]))
            return true;
    return false;
}

/* Where MPI_Comm_f2c is no function (it is a macro of MPICH 4.0), handles of both languages are alike. */
static uint64_t from_fortran(uint64_t address)
{
    int handle;
    memcpy(&handle, (const void *)(uintptr_t)address, sizeof handle);
    return mpi.of_fortran ? mpi.of_fortran(handle) : (uint32_t)handle;
}

/* Gates -------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define REGISTERS 6
#else
#define REGISTERS 8
#endif

/* Called from the entry below: where a call goes. */
PSE_HIDDEN pse_function pse_gate_decide(const struct gate *gate, const uint64_t *registers,
                                        const uint64_t *stack)
{
    const struct pse_spec *spec = gate->spec;
    if (is_timed(spec)) {
        const double time = now() - started;
        if (time < spec->from || time >= spec->until)
            return gate->below;
    }
    if (gate->communicator < 0 || spec->communicators.count == 0)
        return gate->inside;
    const int index = gate->communicator;
    uint64_t word = index < REGISTERS ? registers[index] : stack[index - REGISTERS];
    if (gate->fortran)
        word = from_fortran(word);
    return is_one_of(word, &spec->communicators) ? gate->inside : gate->below;
}

/* Thunks jump here: save whatever carries arguments, ask, and go on with all of it restored. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl pse_gate_enter\n"
        ".hidden pse_gate_enter\n"
        ".type pse_gate_enter, %function\n"
        "pse_gate_enter:\n"
        "  .cfi_startproc\n"
#if defined(__x86_64__)
        PSE_SAVE_ARGUMENTS "  movq 8(%r10), %rdi\n  movq " PSE_SAVED ", %rsi\n  leaq " PSE_PUSHED ", %rdx\n"
        "  call pse_gate_decide\n"
        "  movq %rax, %r11\n" PSE_RESTORE_ARGUMENTS "  jmpq *%r11\n"
#elif defined(__aarch64__)
        PSE_SAVE_ARGUMENTS "  ldr x0, [x17, #8]\n  add x1, " PSE_SAVED "\n  add x2, " PSE_PUSHED "\n"
        "  bl pse_gate_decide\n"
        "  mov x16, x0\n" PSE_RESTORE_ARGUMENTS "  br x16\n"
#endif
        "  .cfi_endproc\n"
        ".size pse_gate_enter, .-pse_gate_enter\n");
extern void pse_gate_enter(void) PSE_HIDDEN;

/* What the header says of a routine, which may have Fortran's spelling. */
static const struct pse_signature *signature_of(const char *routine)
{
    const struct pse_signature *exact = pse_signature_of(routine);
    for (int i = 0; !exact && pse_signatures && i < pse_signature_count; i++)
        if (pse_is_named(routine, pse_signatures[i].name))
            exact = &pse_signatures[i];
    return exact;
}

static bool add_gate(const struct pse_spec *spec, int routine, pse_function *entry, const pse_function *below)
{
    const struct pse_signature *signature = signature_of(pse_name(routine));
    const int communicator = signature ? signature->communicator : -1;
    if (!is_timed(spec) && communicator < 0)
        return true;
    struct gate *gate = malloc(sizeof *gate);
    if (!gate)
        return false;
    *gate = (struct gate){entry[routine], below[routine], spec, communicator, false};
    gate->fortran = signature && strcmp(signature->name, pse_name(routine)) != 0;
    const pse_function thunk = pse_make_thunk(pse_gate_enter, gate);
    if (thunk)
        entry[routine] = thunk;
    return thunk != NULL;
}

bool pse_add_gates(const struct pse_spec *spec, pse_function *entry, const pse_function *below)
{
    bool all = true;
    if (started == 0)
        started = now();
    if (spec->communicators.count == 0 && !is_timed(spec))
        return true;
    if (spec->communicators.count > 0 && !mpi.known)
        learn_mpi();
    for (int i = 0; i < pse_routines; i++)
        if (entry[i] != below[i] && !pse_is_always(pse_name(i)))
            all &= add_gate(spec, i, entry, below);
    return all;
}
