// Calls a function so that a signal handler can end the call. See os/guarded_call.h.
//
// The frame keeps all registers that a function has to preserve. A handler that ends the call sets the stack pointer to
// the stored one and the program counter to thrum_leave_guarded_call.
#if defined(__x86_64__)

        .text
        .globl  thrum_call_guarded
        .hidden thrum_call_guarded
        .globl  thrum_leave_guarded_call
        .hidden thrum_leave_guarded_call
        .type   thrum_call_guarded, @function
        .p2align 4
thrum_call_guarded:                     // rdi: function, rsi: its argument, rdx: where the stack pointer is stored
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        pushq   %rbx
        .cfi_def_cfa_offset 24
        .cfi_offset rbx, -24
        pushq   %r12
        .cfi_def_cfa_offset 32
        .cfi_offset r12, -32
        pushq   %r13
        .cfi_def_cfa_offset 40
        .cfi_offset r13, -40
        pushq   %r14
        .cfi_def_cfa_offset 48
        .cfi_offset r14, -48
        pushq   %r15
        .cfi_def_cfa_offset 56
        .cfi_offset r15, -56
        subq    $8, %rsp
        .cfi_def_cfa_offset 64
        movq    %rsp, (%rdx)
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        movl    $1, %eax
        jmp     1f
thrum_leave_guarded_call:
        endbr64
        xorl    %eax, %eax
1:      addq    $8, %rsp
        .cfi_def_cfa_offset 56
        popq    %r15
        .cfi_def_cfa_offset 48
        popq    %r14
        .cfi_def_cfa_offset 40
        popq    %r13
        .cfi_def_cfa_offset 32
        popq    %r12
        .cfi_def_cfa_offset 24
        popq    %rbx
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   thrum_call_guarded, . - thrum_call_guarded

#include "arch/property_note.inc"
#endif
