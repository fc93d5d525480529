// Calls _Unwind_Backtrace as if the call were made from where the saved registers of another stack point.
//
// The call has its own unwind information. Register n of the caller is word n of the array that rbx points to, counted
// from 0. The order is that of the DWARF numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15. The caller's stack
// pointer is the word of rsp, and the return address of this "frame" is word 16, the saved program counter. As in a
// signal frame, it is the address of the next instruction to run and not of an instruction after a call.
#if defined(__x86_64__)

        .text
        .globl  thrum_unwind_from
        .hidden thrum_unwind_from
        .type   thrum_unwind_from, @function
        .p2align 4
thrum_unwind_from:                      // rdi: registers, rsi: function to call for each frame, rdx: its argument
        .cfi_startproc
        endbr64
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset rbx, -16
        movq    %rdi, %rbx
        movq    %rsi, %rdi
        movq    %rdx, %rsi
        .cfi_endproc

        .cfi_startproc simple
        .cfi_signal_frame
        .cfi_return_column 16
        // DW_CFA_def_cfa_expression of 4 bytes: DW_OP_breg3 56, DW_OP_deref
        .cfi_escape 0x0f, 4, 0x73, 0xb8, 0x00, 0x06
        // DW_CFA_expression of 3 bytes each: DW_OP_breg3 8 n, in two bytes of SLEB128
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16
        .cfi_escape 0x10, \n, 3, 0x73, ((8 * \n) & 0x7f) | 0x80, (8 * \n) >> 7
        .endr
        call    _Unwind_Backtrace@PLT
        .cfi_endproc

        .cfi_startproc
        .cfi_def_cfa rsp, 16
        .cfi_offset rbx, -16
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore rbx
        ret
        .cfi_endproc
        .size   thrum_unwind_from, . - thrum_unwind_from

#include "arch/property_note.inc"
#endif
