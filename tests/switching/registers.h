// Calls a function with known values in every register that the calling convention requires it to preserve, and returns
// how many of them it changed. These are general-purpose registers, and on aarch64 also the low halves of v8 to v15.
#pragma once

#include <cstdint>

extern "C" std::uint64_t thrum_test_call_with_patterns(void (*function)(void*), void* argument, std::uint64_t pattern);

#if defined(__aarch64__)
asm(R"(
        .text
        .globl  thrum_test_call_with_patterns
        .type   thrum_test_call_with_patterns, %function
        .p2align 4
thrum_test_call_with_patterns:
        .cfi_startproc
        hint    #34
        stp     x29, x30, [sp, #-176]!
        .cfi_def_cfa_offset 176
        .cfi_offset x29, -176
        .cfi_offset x30, -168
        mov     x29, sp
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        str     x2, [sp, #160]
        .irp    n, 19,20,21,22,23,24,25,26,27,28
        add     x\n, x2, #\n
        .endr
        .irp    n, 8,9,10,11,12,13,14,15
        add     x9, x2, #(100+\n)
        fmov    d\n, x9
        .endr
        mov     x9, x0
        mov     x0, x1
        blr     x9
        ldr     x2, [sp, #160]
        mov     x0, #0
        .irp    n, 19,20,21,22,23,24,25,26,27,28
        add     x9, x2, #\n
        cmp     x\n, x9
        cinc    x0, x0, ne
        .endr
        .irp    n, 8,9,10,11,12,13,14,15
        add     x9, x2, #(100+\n)
        fmov    x10, d\n
        cmp     x10, x9
        cinc    x0, x0, ne
        .endr
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp], #176
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   thrum_test_call_with_patterns, . - thrum_test_call_with_patterns
)");
#elif defined(__x86_64__)
asm(R"(
        .text
        .globl  thrum_test_call_with_patterns
        .type   thrum_test_call_with_patterns, @function
        .p2align 4
thrum_test_call_with_patterns:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        pushq   %rdx
        leaq    3(%rdx), %rbx
        leaq    12(%rdx), %r12
        leaq    13(%rdx), %r13
        leaq    14(%rdx), %r14
        leaq    15(%rdx), %r15
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        movq    (%rsp), %rdx
        xorl    %eax, %eax
        xorl    %ecx, %ecx
        .macro  thrum_test_check reg, number
        leaq    \number(%rdx), %rsi
        cmpq    %rsi, \reg
        setne   %cl
        addq    %rcx, %rax
        .endm
        thrum_test_check %rbx, 3
        thrum_test_check %r12, 12
        thrum_test_check %r13, 13
        thrum_test_check %r14, 14
        thrum_test_check %r15, 15
        leaq    48(%rsp), %rsi
        cmpq    %rsi, %rbp
        setne   %cl
        addq    %rcx, %rax
        popq    %rdx
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   thrum_test_call_with_patterns, . - thrum_test_call_with_patterns
)");
#endif
