/* Functions of Python 3.12 and later: events of sys.monitoring (PEP 669).
 *
 * A callback is a builtin function.  Where a function is not recorded, the callback switches its event off,
 * so that it costs nothing any more; ends by exceptions can't be switched off.  Of the numbers for tools the
 * two that have no name are taken, so that debuggers, coverage and cProfile work as ever.
 */
#include "python/python_monitoring.h"

#include <stddef.h>

#include "python/python_regions.h"
#include "python_api.h"
#include "regions/region_stacks.h"
#include "regions/region_table.h"
#include "tool.h"
#include "writer.h"

enum { FAST_CALL = 0x80 };    /* METH_FASTCALL */
enum { AS_STATEMENTS = 257 }; /* Py_file_input */

/* struct PyMethodDef */
struct method {
    const char *name;
    void *(*function)(void *self, void *const *arguments, ptrdiff_t count);
    int flags;
    const char *text;
};

static const struct pse_python_api *python;
static void *disable; /* sys.monitoring.DISABLE */

/* What a callback gives back: None lives for ever. */
static void *switched_off(void)
{
    if (!disable)
        return pse_trace_python.none;
    python->keep(disable);
    return disable;
}

static bool enters(void *code)
{
    struct trace_region *region = pse_trace_python_region(code);
    if (!region || !pse_trace_may_record(region))
        return false;
    pse_trace_enter_region(region, NULL);
    return true;
}

static bool leaves(void *code)
{
    const struct trace_region *region = pse_trace_find_region(code);
    if (!region || !pse_trace_may_record(region))
        return false;
    pse_trace_leave_region(region, false);
    return true;
}

/* PY_START, PY_RESUME: code, offset. */
static void *entered(void *self, void *const *arguments, ptrdiff_t count)
{
    (void)self, (void)count;
    return enters(arguments[0]) ? pse_trace_python.none : switched_off();
}

/* PY_RETURN, PY_YIELD: code, offset, value. */
static void *left(void *self, void *const *arguments, ptrdiff_t count)
{
    (void)self, (void)count;
    return leaves(arguments[0]) ? pse_trace_python.none : switched_off();
}

/* PY_THROW: code, offset, exception. */
static void *entered_by_exception(void *self, void *const *arguments, ptrdiff_t count)
{
    (void)self, (void)count;
    enters(arguments[0]);
    return pse_trace_python.none;
}

/* PY_UNWIND: code, offset, exception. */
static void *left_by_exception(void *self, void *const *arguments, ptrdiff_t count)
{
    (void)self, (void)count;
    leaves(arguments[0]);
    return pse_trace_python.none;
}

static struct method callbacks[] = {
    {"PY_START", entered, FAST_CALL, NULL},
    {"PY_RESUME", entered, FAST_CALL, NULL},
    {"PY_THROW", entered_by_exception, FAST_CALL, NULL},
    {"PY_RETURN", left, FAST_CALL, NULL},
    {"PY_YIELD", left, FAST_CALL, NULL},
    {"PY_UNWIND", left_by_exception, FAST_CALL, NULL},
};

static const char statements[] =
    "from sys import monitoring\n"
    "callbacks = {name: value for name, value in globals().items()"
    " if name.startswith('PY_')}\n"
    "tool = 4 if monitoring.get_tool(4) is None else 3\n"
    "monitoring.use_tool_id(tool, 'pse trace')\n"
    "for name, value in callbacks.items():\n"
    "    monitoring.register_callback(tool, getattr(monitoring.events, name), value)\n"
    "disable = monitoring.DISABLE\n"
    "monitoring.set_events(tool, sum(getattr(monitoring.events, name)"
    " for name in callbacks))\n";

/* The names that the statements find. */
static void *new_names(void)
{
    void *names = pse_trace_python.new_dict();
    for (size_t i = 0; names && i < sizeof callbacks / sizeof *callbacks; i++) {
        void *function = pse_trace_python.new_function(&callbacks[i], NULL, NULL);
        if (function) {
            pse_trace_python.set_item(names, callbacks[i].name, function);
            python->forget(function);
        }
    }
    return names;
}

void pse_trace_monitor_python(const struct pse_python_api *api)
{
    python = api;
    void *names = new_names(), *code = pse_trace_python.compile(statements, "<pse>", AS_STATEMENTS);
    void *result = names && code ? pse_trace_python.run(code, names, names) : NULL;
    if (result) {
        disable = pse_trace_python.item(names, "disable");
        python->keep(disable);
    } else {
        python->clear_error();
        pse_tool_warn("functions of Python can't be recorded: sys.monitoring has no tool to spare");
    }
    void *const made[] = {result, code, names};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (made[i])
            python->forget(made[i]);
}
