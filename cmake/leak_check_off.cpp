// Turns the leak checker off in gcc's AddressSanitizer build of the tests, so that only the clang build looks for
// leaks. Many tests leave goroutines behind on purpose, and memory that only these refer to is not a leak. thrum tells
// gcc's leak checker where to look for such references, but the checker does not always find them. On aarch64, before
// gcc 13, it also takes four seconds for each of thousands of processes.
extern "C" char const* __asan_default_options();
extern "C" char const* __asan_default_options() { return "detect_leaks=0"; }
