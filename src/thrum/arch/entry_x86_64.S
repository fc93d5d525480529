// The first code on a new goroutine stack. The word at rsp is the address of the function to call, which does not
// return.
//
// The unwind information says that this function has no caller, so debuggers and exceptions stop here. If no frame
// catches an exception, the unwinder calls the personality routine in the search phase, while the frames that threw are
// intact.
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
