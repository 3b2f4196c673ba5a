/* The answers of dlsym in a layer. */
#include "layers/layer_dlsym.h"

#include <dlfcn.h>

#include "mpi/routine_table.h"

#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl pse_toolstack_dlsym_entry\n"
        ".hidden pse_toolstack_dlsym_entry\n"
        ".type pse_toolstack_dlsym_entry, @function\n"
        "pse_toolstack_dlsym_entry:\n"
        "  .cfi_startproc\n"
        "  pushq %rdi\n  pushq %rsi\n  pushq %r10\n"
        "  .cfi_adjust_cfa_offset 24\n"
        "  movq 8(%r10), %rdx\n"
        "  call pse_toolstack_dlsym\n"
        "  popq %r10\n  popq %rsi\n  popq %rdi\n"
        "  .cfi_adjust_cfa_offset -24\n"
        "  testq %rax, %rax\n"
        "  jz 1f\n"
        "  ret\n"
        "1: jmp *dlsym@GOTPCREL(%rip)\n"
        "  .cfi_endproc\n"
        ".size pse_toolstack_dlsym_entry, .-pse_toolstack_dlsym_entry\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl pse_toolstack_dlsym_entry\n"
        ".hidden pse_toolstack_dlsym_entry\n"
        ".type pse_toolstack_dlsym_entry, %function\n"
        "pse_toolstack_dlsym_entry:\n"
        "  .cfi_startproc\n"
        "  hint #34\n"
        "  stp x29, x30, [sp, #-32]!\n"
        "  .cfi_def_cfa_offset 32\n"
        "  .cfi_offset x29, -32\n"
        "  .cfi_offset x30, -24\n"
        "  mov x29, sp\n"
        "  stp x0, x1, [sp, #16]\n"
        "  ldr x2, [x17, #8]\n"
        "  bl pse_toolstack_dlsym\n"
        "  mov x9, x0\n"
        "  ldp x0, x1, [sp, #16]\n"
        "  ldp x29, x30, [sp], #32\n"
        "  .cfi_def_cfa_offset 0\n"
        "  cbz x9, 1f\n"
        "  mov x0, x9\n"
        "  ret\n"
        "1: adrp x16, :got:dlsym\n"
        "  ldr x16, [x16, #:got_lo12:dlsym]\n"
        "  br x16\n"
        "  .cfi_endproc\n"
        ".size pse_toolstack_dlsym_entry, .-pse_toolstack_dlsym_entry\n");
#endif

void *pse_toolstack_dlsym(void *handle, const char *name, struct tool_layer *layer)
{
    int routine = pse_toolstack_find_lower(name);
    if (routine >= 0)
        return (void *)pse_toolstack_layer_below(layer, routine);
    if ((routine = pse_toolstack_find(name)) < 0)
        return NULL;
    const pse_function own = handle == RTLD_DEFAULT ? pse_toolstack_layer_defines(layer, routine) : NULL;
    return (void *)(own ? own : pse_toolstack_layer_below(layer, routine));
}
