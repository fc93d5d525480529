// clang's AddressSanitizer keeps locals outside the stack, to find their use after a return. The leak checker does not look
// there for those of a goroutine that never ended, and some tests ask where a goroutine's stack is.
extern "C" char const* __asan_default_options();
extern "C" char const* __asan_default_options() { return "detect_stack_use_after_return=0"; }
