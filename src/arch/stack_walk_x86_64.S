// _Unwind_Backtrace, as if it were called from where the registers of another stack stood.
//
// The call has unwind information of its own: register n of the caller is the n-th word behind rbx (by the DWARF numbers:
// rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15), its stack pointer is the word of rsp, and the address to go on at is
// the 16th. Like that of a signal frame it is the address of the next instruction and not of one after a call.
#if defined(__x86_64__)

        .text
        .globl  thrum_unwind_from
        .hidden thrum_unwind_from
        .type   thrum_unwind_from, @function
        .p2align 4
thrum_unwind_from:                      // rdi: registers, rsi: what to call for each frame, rdx: its argument
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
