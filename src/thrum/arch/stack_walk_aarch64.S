// Calls _Unwind_Backtrace as if the call were made from where the saved registers of another stack point.
//
// The call has its own unwind information. Register n of the caller is word n of the array that x19 points to, counted
// from 0. The caller's stack pointer is word 31. The return address of this "frame" is word 32, the saved program
// counter.
//
// The return address column must not be x30, as it is elsewhere, because an interrupted leaf function needs its own
// x30. libgcc has column 96 for this purpose and uses it for the kernel's signal frames. As in a signal frame, the
// address is that of the next instruction to run and not of an instruction after a call.
#if defined(__aarch64__)

        .text
        .globl  thrum_unwind_from
        .hidden thrum_unwind_from
        .type   thrum_unwind_from, %function
        .p2align 4
thrum_unwind_from:                      // x0: registers, x1: function to call for each frame, x2: its argument
        .cfi_startproc
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mov     x19, x0
        mov     x0, x1
        mov     x1, x2
        .cfi_endproc

        .cfi_startproc simple
        .cfi_signal_frame
        .cfi_return_column 96
        // DW_CFA_def_cfa_expression of 4 bytes: DW_OP_breg19 248, DW_OP_deref
        .cfi_escape 0x0f, 4, 0x83, 0xf8, 0x01, 0x06
        // DW_CFA_expression of 3 bytes each: DW_OP_breg19 8 n, in two bytes of SLEB128
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .cfi_escape 0x10, \n, 3, 0x83, ((8 * \n) & 0x7f) | 0x80, (8 * \n) >> 7
        .endr
        .irp    n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
        .cfi_escape 0x10, \n, 3, 0x83, ((8 * \n) & 0x7f) | 0x80, (8 * \n) >> 7
        .endr
        .cfi_escape 0x10, 96, 3, 0x83, 0x80, 0x02
        bl      _Unwind_Backtrace
        .cfi_endproc

        .cfi_startproc
        .cfi_def_cfa sp, 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        .cfi_offset x19, -16
        ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        .cfi_restore x19
        ret
        .cfi_endproc
        .size   thrum_unwind_from, . - thrum_unwind_from

#include "arch/property_note.inc"
#endif
