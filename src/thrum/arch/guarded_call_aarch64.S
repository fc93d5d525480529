// Calls a function so that a signal handler can end the call. See os/guarded_call.h.
//
// The frame keeps all registers that a function has to preserve. A handler that ends the call sets the stack pointer to
// the stored one and the program counter to thrum_leave_guarded_call.
#if defined(__aarch64__)

        .text
        .globl  thrum_call_guarded
        .hidden thrum_call_guarded
        .globl  thrum_leave_guarded_call
        .hidden thrum_leave_guarded_call
        .type   thrum_call_guarded, %function
        .p2align 4
thrum_call_guarded:                     // x0: function, x1: its argument, x2: where the stack pointer is stored
        .cfi_startproc
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-160]!
        .cfi_def_cfa_offset 160
        .cfi_offset x29, -160
        .cfi_offset x30, -152
        mov     x29, sp
        stp     x19, x20, [sp, #16]
        .cfi_offset x19, -144
        .cfi_offset x20, -136
        stp     x21, x22, [sp, #32]
        .cfi_offset x21, -128
        .cfi_offset x22, -120
        stp     x23, x24, [sp, #48]
        .cfi_offset x23, -112
        .cfi_offset x24, -104
        stp     x25, x26, [sp, #64]
        .cfi_offset x25, -96
        .cfi_offset x26, -88
        stp     x27, x28, [sp, #80]
        .cfi_offset x27, -80
        .cfi_offset x28, -72
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x2]
        mov     x9, x0
        mov     x0, x1
        blr     x9
        mov     w0, #1
        b       1f
thrum_leave_guarded_call:
        hint    #36                     // bti j
        mov     w0, #0
1:      ldp     d14, d15, [sp, #144]
        ldp     d12, d13, [sp, #128]
        ldp     d10, d11, [sp, #112]
        ldp     d8, d9, [sp, #96]
        ldp     x27, x28, [sp, #80]
        ldp     x25, x26, [sp, #64]
        ldp     x23, x24, [sp, #48]
        ldp     x21, x22, [sp, #32]
        ldp     x19, x20, [sp, #16]
        ldp     x29, x30, [sp], #160
        .cfi_restore x29
        .cfi_restore x30
        .cfi_restore x19
        .cfi_restore x20
        .cfi_restore x21
        .cfi_restore x22
        .cfi_restore x23
        .cfi_restore x24
        .cfi_restore x25
        .cfi_restore x26
        .cfi_restore x27
        .cfi_restore x28
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   thrum_call_guarded, . - thrum_call_guarded

#include "arch/property_note.inc"
#endif
