/* Saving what may carry a call's arguments, for entries in assembly that ask a C function where the call
 * goes.
 *
 * MPI's routines have no prototypes there, and MPI_Pcontrol takes any number of arguments.  So every register
 * that can carry one is saved, al among them, which counts vector arguments of variadic calls on x86-64.
 * Between the two the general registers lie at PSE_SAVED, in the order of arguments, and what the caller has
 * pushed at PSE_PUSHED.
 */
#ifndef PSE_TOOLSTACK_ARGUMENT_REGISTERS_H
#define PSE_TOOLSTACK_ARGUMENT_REGISTERS_H

/* clang-format off */
#if defined(__x86_64__)
#define PSE_SAVE_ARGUMENTS                                                                                   \
    "  pushq %rbp\n"                                                                                         \
    "  .cfi_def_cfa_offset 16\n"                                                                             \
    "  .cfi_offset %rbp, -16\n"                                                                              \
    "  movq %rsp, %rbp\n"                                                                                    \
    "  .cfi_def_cfa_register %rbp\n"                                                                         \
    "  subq $192, %rsp\n"                                                                                    \
    "  movq %rdi, (%rsp)\n  movq %rsi, 8(%rsp)\n  movq %rdx, 16(%rsp)\n  movq %rcx, 24(%rsp)\n"              \
    "  movq %r8, 32(%rsp)\n  movq %r9, 40(%rsp)\n  movq %rax, 48(%rsp)\n  movq %r10, 56(%rsp)\n"             \
    "  movups %xmm0, 64(%rsp)\n  movups %xmm1, 80(%rsp)\n  movups %xmm2, 96(%rsp)\n"                         \
    "  movups %xmm3, 112(%rsp)\n  movups %xmm4, 128(%rsp)\n  movups %xmm5, 144(%rsp)\n"                      \
    "  movups %xmm6, 160(%rsp)\n  movups %xmm7, 176(%rsp)\n"
#define PSE_SAVED "%rsp"
#define PSE_PUSHED "16(%rbp)"
#define PSE_RESTORE_ARGUMENTS                                                                                \
    "  movq (%rsp), %rdi\n  movq 8(%rsp), %rsi\n  movq 16(%rsp), %rdx\n  movq 24(%rsp), %rcx\n"              \
    "  movq 32(%rsp), %r8\n  movq 40(%rsp), %r9\n  movq 48(%rsp), %rax\n  movq 56(%rsp), %r10\n"             \
    "  movups 64(%rsp), %xmm0\n  movups 80(%rsp), %xmm1\n  movups 96(%rsp), %xmm2\n"                         \
    "  movups 112(%rsp), %xmm3\n  movups 128(%rsp), %xmm4\n  movups 144(%rsp), %xmm5\n"                      \
    "  movups 160(%rsp), %xmm6\n  movups 176(%rsp), %xmm7\n"                                                 \
    "  leave\n"                                                                                              \
    "  .cfi_def_cfa %rsp, 8\n"
#define PSE_CALL "  call "
#define PSE_JUMP "  movq %rax, %r11\n" PSE_RESTORE_ARGUMENTS "  jmpq *%r11\n"
#elif defined(__aarch64__)
#define PSE_SAVE_ARGUMENTS                                                                                   \
    "  stp x29, x30, [sp, #-224]!\n"                                                                         \
    "  .cfi_def_cfa_offset 224\n"                                                                            \
    "  .cfi_offset x29, -224\n"                                                                              \
    "  .cfi_offset x30, -216\n"                                                                              \
    "  mov x29, sp\n"                                                                                        \
    "  stp x0, x1, [sp, #16]\n  stp x2, x3, [sp, #32]\n"                                                     \
    "  stp x4, x5, [sp, #48]\n  stp x6, x7, [sp, #64]\n"                                                     \
    "  str x8, [sp, #80]\n"                                                                                  \
    "  stp q0, q1, [sp, #96]\n  stp q2, q3, [sp, #128]\n"                                                    \
    "  stp q4, q5, [sp, #160]\n  stp q6, q7, [sp, #192]\n"
#define PSE_SAVED "sp, #16"
#define PSE_PUSHED "sp, #224"
#define PSE_RESTORE_ARGUMENTS                                                                                \
    "  ldp x0, x1, [sp, #16]\n  ldp x2, x3, [sp, #32]\n"                                                     \
    "  ldp x4, x5, [sp, #48]\n  ldp x6, x7, [sp, #64]\n"                                                     \
    "  ldr x8, [sp, #80]\n"                                                                                  \
    "  ldp q0, q1, [sp, #96]\n  ldp q2, q3, [sp, #128]\n"                                                    \
    "  ldp q4, q5, [sp, #160]\n  ldp q6, q7, [sp, #192]\n"                                                   \
    "  ldp x29, x30, [sp], #224\n"                                                                           \
    "  .cfi_def_cfa_offset 0\n"
#define PSE_CALL "  bl "
#define PSE_JUMP "  mov x16, x0\n" PSE_RESTORE_ARGUMENTS "  br x16\n"
#else
#error "the tool stack knows x86-64 and aarch64 only"
#endif

/* An entry in assembly: saves the arguments of the call, sets those of the C function `decide` by `set`, and
 * jumps to what it returns. */
#define PSE_ENTRY(name, set, decide)                                                                         \
    __asm__(".text\n"                                                                                        \
            ".p2align 4\n"                                                                                   \
            ".globl " name "\n"                                                                              \
            ".hidden " name "\n"                                                                             \
            ".type " name ", %function\n"                                                                    \
            name ":\n"                                                                                       \
            "  .cfi_startproc\n" PSE_SAVE_ARGUMENTS set PSE_CALL decide "\n" PSE_JUMP "  .cfi_endproc\n"      \
            ".size " name ", .-" name "\n")
/* clang-format on */

#endif
