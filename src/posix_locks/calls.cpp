// The anchor of thrum::posix_locks. See posix/calls.cpp.
extern "C" {

extern char const thrum_posix_mutex;
extern char const thrum_posix_cond;
extern char const thrum_posix_join;

extern char const* const thrum_posix_locks_calls[] __attribute__((visibility("default")));
char const* const thrum_posix_locks_calls[] = {&thrum_posix_mutex, &thrum_posix_cond, &thrum_posix_join};

}  // extern "C"
