// For the end of every assembler file: it needs no executable stack, and its indirect jumps land where the processor may insist
// on it (branch target identification, indirect branch tracking). It does not say that the code keeps a shadow stack: it does not.
#if defined(__aarch64__)
#define THRUM_BRANCH_TARGETS 0xc0000000
#elif defined(__x86_64__)
#define THRUM_BRANCH_TARGETS 0xc0000002
#endif

        .section .note.GNU-stack, "", %progbits

        .section .note.gnu.property, "a"
        .p2align 3
        .long   4
        .long   16
        .long   5
        .asciz  "GNU"
        .long   THRUM_BRANCH_TARGETS
        .long   4
        .long   1
        .long   0
