/* The first call of a routine: a table entry that has not been linked yet brings its number here, in r11
 * (w16). */
#include <stdlib.h>

#include "abi_environment.h"
#include "calls/argument_registers.h"
#include "mpi/mpi_library.h"
#include "mpi/routine_table.h"
#include "stack.h"

#if defined(__x86_64__)
#define SET_ARGUMENTS "  movl %r11d, %edi\n"
#else
#define SET_ARGUMENTS "  mov w0, w16\n"
#endif
PSE_ENTRY("pse_toolstack_first_call", SET_ARGUMENTS, "pse_toolstack_resolve");

/* Link the stack, and give what the call jumps to. */
__attribute__((visibility("hidden"))) pse_function pse_toolstack_resolve(int routine);

pse_function pse_toolstack_resolve(int routine)
{
    const char *configuration = getenv(PSE_TOOLS_VARIABLE);
    bool is_linking;
    const bool is_linked = pse_toolstack_is_begun(&is_linking);
    if (is_linking)
        return pse_toolstack_library_routine(routine);
    if (!is_linked)
        pse_toolstack_begin_once(configuration && *configuration ? configuration : NULL);
    return pse_toolstack_table[routine];
}
