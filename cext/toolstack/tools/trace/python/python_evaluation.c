/* Functions of Python 3.11: a hook for each frame that is evaluated (PEP 523).
 *
 * A generator is entered when it goes on and left when it yields, and exceptions end functions as returns do.
 * Rejected: the profiling hook (PyEval_SetProfile), with which 3.11 runs every instruction slower, by half in
 * loops.
 */
#define _GNU_SOURCE
#include "python/python_evaluation.h"

#include <dlfcn.h>

#include "python/python_frames.h"
#include "python/python_regions.h"
#include "python_api.h"
#include "regions/region_stacks.h"
#include "regions/region_table.h"
#include "regions/threads.h"
#include "tool.h"
#include "writer.h"

enum { CODE_IN_FRAME = 32 };  /* struct _PyInterpreterFrame of 3.11 */
enum { DEEPEST_HOOK = 1000 }; /* nested evaluations, which use the stack of C */

typedef void *evaluation(void *state, void *frame, int throwing);

static evaluation *(*get_evaluation)(void *interpreter);
static void (*set_evaluation)(void *interpreter, evaluation *);
PSE_TRACE_HOT_DATA static evaluation *before;
static TOOL_THREAD_LOCAL unsigned nested_elsewhere;
PSE_TRACE_HOT_DATA static unsigned nested_in_initial;

/* Codes that are not recorded and will not be, some of them: most calls are of libraries, and while a program
 * computes, the regions and their table leave the cache. */
enum { SKIPPED = 128 };
PSE_TRACE_HOT_TABLE static const void *skipped[SKIPPED];

static inline const void **skipped_place(const void *code)
{
    return &skipped[((uintptr_t)code >> 5) % SKIPPED];
}

/* Functions nested deeper are called without the hook: with it each needs some of C's stack. */
__attribute__((cold)) static void *evaluate_unhooked(void *state, void *frame, int throwing);

static inline void *code_of(const void *frame)
{
    return *(void *const *)((const char *)frame + CODE_IN_FRAME);
}

/* How many evaluations of the calling thread are nested. */
static inline unsigned *nested(void)
{
    return __builtin_expect(pse_trace_is_initial(), 1) ? &nested_in_initial : &nested_elsewhere;
}

static inline void *evaluate_nested(void *state, void *frame, int throwing)
{
    unsigned *const depth = nested(); /* The same afterwards, whichever thread is the initial one then. */
    ++*depth;
    void *result = before(state, frame, throwing);
    --*depth;
    return result;
}

static void *evaluate_skipped(const struct trace_region *region, void *state, void *frame, int throwing)
{
    if (region) /* Else there is no memory for it, and its code may go. */
        *skipped_place(region->key) = region->key;
    return evaluate_nested(state, frame, throwing);
}

__attribute__((noinline)) PSE_TRACE_HOT static void *evaluate_region(void *state, void *frame, int throwing)
{
    if (!pse_trace_recorder)
        return evaluate_unhooked(state, frame, throwing);
    void *const code = code_of(frame);
    struct trace_region *region = pse_trace_find_region(code);
    if (__builtin_expect(!region, 0))
        region = pse_trace_python_region(code);
    if (!region || !(region->is_recorded || region->open))
        return evaluate_skipped(region, state, frame, throwing);
    if (pse_trace_is_in_initial_frames())
        pse_trace_close_ended_frames();
    const bool entered = pse_trace_enter_region(region, NULL);
    void *result = evaluate_nested(state, frame, throwing);
    if (entered)
        pse_trace_leave_region(region, true);
    return result;
}

PSE_TRACE_HOT static void *evaluate(void *state, void *frame, int throwing)
{
    const void *const code = code_of(frame);
    if (__builtin_expect(*nested() >= DEEPEST_HOOK, 0))
        return evaluate_unhooked(state, frame, throwing);
    return *skipped_place(code) == code ? evaluate_nested(state, frame, throwing)
                                        : evaluate_region(state, frame, throwing);
}

static void *evaluate_unhooked(void *state, void *frame, int throwing)
{
    void *interpreter = pse_trace_python.interpreter();
    set_evaluation(interpreter, before);
    void *result = before(state, frame, throwing);
    if (pse_trace_recorder)
        set_evaluation(interpreter, evaluate);
    return result;
}

/* The begin */

static void *probed;

static void *probe(void *state, void *frame, int throwing)
{
    probed = *(void **)((char *)frame + CODE_IN_FRAME);
    return before(state, frame, throwing);
}

/* Whether frames have their code where it is expected: evaluate some code that is known. */
static bool code_is_found(const struct pse_python_api *python, void *interpreter)
{
    enum { AS_EXPRESSION = 258 }; /* Py_eval_input */
    void *code = pse_trace_python.compile("None", "<pse>", AS_EXPRESSION),
         *names = pse_trace_python.new_dict(), *result = NULL;
    set_evaluation(interpreter, probe);
    if (code && names)
        result = pse_trace_python.run(code, names, names);
    set_evaluation(interpreter, before);
    const bool known = code && probed == code;
    void *const made[] = {result, names, code};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (made[i])
            python->forget(made[i]);
    return known;
}

bool pse_trace_frames_are_known(const struct pse_python_api *python)
{
    get_evaluation = (evaluation * (*)(void *)) dlsym(RTLD_DEFAULT, "_PyInterpreterState_GetEvalFrameFunc");
    set_evaluation =
        (void (*)(void *, evaluation *))dlsym(RTLD_DEFAULT, "_PyInterpreterState_SetEvalFrameFunc");
    void *interpreter = pse_trace_python.interpreter();
    if (!get_evaluation || !set_evaluation)
        return false;
    before = get_evaluation(interpreter);
    if (code_is_found(python, interpreter))
        return true;
    pse_tool_warn("functions of this Python can't be recorded: its frames have another form");
    return false;
}

void pse_trace_hook_evaluation(void)
{
    set_evaluation(pse_trace_python.interpreter(), evaluate);
}
