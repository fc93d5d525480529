// Options of clang's AddressSanitizer for the tests. By default it keeps local variables outside the stack, to find
// uses of them after their function has returned. This is turned off for two reasons: the leak checker does not look
// there for the local variables of a goroutine that never ended, and some tests ask where a goroutine's stack is.
extern "C" char const* __asan_default_options();
extern "C" char const* __asan_default_options() { return "detect_stack_use_after_return=0"; }
