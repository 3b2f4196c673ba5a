/* The ways into the stack from assembly: the first call of a routine, and a tool's own dlsym.
 *
 * Both must not disturb what the caller has put into registers (registers.h).
 */

#include "internal.h"
#include "registers.h"

/* pse_first: a table entry that has not been linked yet brings its number here, in r11 (w16). */
PSE_HIDDEN pse_function pse_resolve(int routine);
/* pse_dlsym: a thunk whose data is the layer. */
PSE_HIDDEN void *pse_dlsym_in_layer(void *handle, const char *name, struct pse_layer *layer);

#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl pse_first\n"
        ".hidden pse_first\n"
        ".type pse_first, @function\n"
        "pse_first:\n"
        "  .cfi_startproc\n" PSE_SAVE_ARGUMENTS "  movl %r11d, %edi\n"
        "  call pse_resolve\n"
        "  movq %rax, %r11\n" PSE_RESTORE_ARGUMENTS "  jmp *%r11\n"
        "  .cfi_endproc\n"
        ".size pse_first, .-pse_first\n"
        ".p2align 4\n"
        ".globl pse_dlsym\n"
        ".hidden pse_dlsym\n"
        ".type pse_dlsym, @function\n"
        "pse_dlsym:\n"
        "  .cfi_startproc\n"
        "  pushq %rdi\n  pushq %rsi\n  pushq %r10\n"
        "  .cfi_adjust_cfa_offset 24\n"
        "  movq 8(%r10), %rdx\n"
        "  call pse_dlsym_in_layer\n"
        "  popq %r10\n  popq %rsi\n  popq %rdi\n"
        "  .cfi_adjust_cfa_offset -24\n"
        "  testq %rax, %rax\n"
        "  jz 1f\n"
        "  ret\n"
        "1: jmp *dlsym@GOTPCREL(%rip)\n"
        "  .cfi_endproc\n"
        ".size pse_dlsym, .-pse_dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl pse_first\n"
        ".hidden pse_first\n"
        ".type pse_first, %function\n"
        "pse_first:\n"
        "  .cfi_startproc\n" PSE_SAVE_ARGUMENTS "  mov w0, w16\n"
        "  bl pse_resolve\n"
        "  mov x16, x0\n" PSE_RESTORE_ARGUMENTS "  br x16\n"
        "  .cfi_endproc\n"
        ".size pse_first, .-pse_first\n"
        ".p2align 4\n"
        ".globl pse_dlsym\n"
        ".hidden pse_dlsym\n"
        ".type pse_dlsym, %function\n"
        "pse_dlsym:\n"
        "  .cfi_startproc\n"
        "  hint #34\n"
        "  stp x29, x30, [sp, #-32]!\n"
        "  .cfi_def_cfa_offset 32\n"
        "  .cfi_offset x29, -32\n"
        "  .cfi_offset x30, -24\n"
        "  mov x29, sp\n"
        "  stp x0, x1, [sp, #16]\n"
        "  ldr x2, [x17, #8]\n"
        "  bl pse_dlsym_in_layer\n"
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
        ".size pse_dlsym, .-pse_dlsym\n");
#endif
