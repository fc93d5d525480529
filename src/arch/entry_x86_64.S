// Where a fresh goroutine stack begins. The word at rsp is the function to call; it does not return.
//
// The unwind information says that nobody called us: debuggers and exceptions stop here. The personality routine is
// asked in the search phase of an exception that nobody caught, while the throwing frames are still intact.
#if defined(__x86_64__)

        .text
        .globl  thrum_goroutine_entry
        .hidden thrum_goroutine_entry
        .hidden thrum_entry_personality
        .hidden thrum_first_arrival
        .type   thrum_goroutine_entry, @function
        .p2align 4
thrum_goroutine_entry:
        .cfi_startproc
        .cfi_personality 0x1b, thrum_entry_personality
        .cfi_def_cfa rsp, 16
        .cfi_undefined rip
        .cfi_undefined rbp
        endbr64
        xorl    %ebp, %ebp
        call    thrum_first_arrival
        call    *(%rsp)
        ud2
        .cfi_endproc
        .size   thrum_goroutine_entry, . - thrum_goroutine_entry
        .globl  thrum_goroutine_entry_end
        .hidden thrum_goroutine_entry_end
thrum_goroutine_entry_end:

#include "arch/property_note.inc"
#endif
