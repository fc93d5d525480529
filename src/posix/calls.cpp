// The anchor. Linking with thrum::posix requests this symbol (-u), and with it every file of the library. A program
// that does not call `poll` itself may load libraries that do.
extern "C" {

extern char const thrum_posix_io;
extern char const thrum_posix_recv;
extern char const thrum_posix_send;
extern char const thrum_posix_connect;
extern char const thrum_posix_poll;
extern char const thrum_posix_sleep;
extern char const thrum_posix_names;
extern char const thrum_posix_close;
extern char const thrum_posix_fortified;

extern char const* const thrum_posix_calls[] __attribute__((visibility("default")));
char const* const thrum_posix_calls[] = {&thrum_posix_io,      &thrum_posix_recv,  &thrum_posix_send,
                                         &thrum_posix_connect, &thrum_posix_poll,  &thrum_posix_sleep,
                                         &thrum_posix_names,   &thrum_posix_close, &thrum_posix_fortified};

}  // extern "C"
