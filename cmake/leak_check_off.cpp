// Many tests leave goroutines behind on purpose, and what only these refer to is no leak; gcc's leak checker is told where to look
// but does not always find it. On aarch64, before gcc 13, it also takes four seconds for each of thousands of processes. So
// leaks are left to the clang build.
extern "C" char const* __asan_default_options();
extern "C" char const* __asan_default_options() { return "detect_leaks=0"; }
