// The anchor: whoever links thrum::posix asks for this symbol (-u), and with it for every file of the library. A program that does not name
// `poll` itself may have libraries that do.
#include <cstddef>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

extern "C" {

ssize_t __read_chk(int fd, void* data, std::size_t bytes, std::size_t room);

using any_call = void (*)();
extern any_call const thrum_posix_calls[] __attribute__((visibility("default")));

// One of each file.
any_call const thrum_posix_calls[] = {
    reinterpret_cast<any_call>(&::read),        reinterpret_cast<any_call>(&::recv),
    reinterpret_cast<any_call>(&::send),        reinterpret_cast<any_call>(&::accept),
    reinterpret_cast<any_call>(&::poll),        reinterpret_cast<any_call>(&::nanosleep),
    reinterpret_cast<any_call>(&::getaddrinfo), reinterpret_cast<any_call>(&::close),
    reinterpret_cast<any_call>(&::__read_chk),
};

}  // extern "C"
