// The C library's own functions, which the functions of this library replace. They are called "plain" here.
//
// They are looked up by name in the libraries after this one (RTLD_NEXT) when this library is loaded. They are not
// looked up at each use, because that takes the loader's lock. A child of fork might find the lock held for ever, and a
// signal handler might find it held by its own thread. A function that is called before the library is initialised is
// looked up at that call. Nothing here allocates.
#pragma once

#include "base/atomic.h"

#include <cstddef>

#include <netdb.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>

namespace thrum::posix {

// Prevents that the compiler turns a call of dlsym into a jump (a tail call), by using the result after the call. The
// loader learns from the return address which library asks for the next symbol. With a jump that would be the address
// of the caller.
[[gnu::always_inline]] inline void seen_from_here(void* found) noexcept { asm volatile("" : : "r"(found)); }

// Looks up the next definition of `name` after this library.
[[nodiscard]] void* next_after_posix(char const* name) noexcept;

class plain_function {
 public:
  // Each library that replaces functions passes its own lookup function, because "next" depends on the library that
  // asks.
  using lookup = void* (*)(char const* name) noexcept;
  constexpr explicit plain_function(char const* name, lookup next = next_after_posix) noexcept
      : name_(name), next_(next) {}
  // Looks the function up. It is no error if it is not found, because an old C library does not have all of them.
  void find_early() noexcept;
  [[nodiscard]] bool is_found() const noexcept { return found_.load(rt::relaxed) != nullptr; }

 protected:
  [[nodiscard]] void* address() noexcept {
    void* const known = found_.load(rt::relaxed);  // relaxed: every thread finds the same address
    return known != nullptr ? known : find();
  }

 private:
  // Ends the program if the function does not exist.
  [[nodiscard]] void* find() noexcept;

  char const* const name_;
  lookup const next_;
  rt::atomic<void*> found_{nullptr};
};

template <class F>
class plain_call;

template <class R, class... A>
class plain_call<R(A...)> : public plain_function {
 public:
  using plain_function::plain_function;
  R operator()(A... arguments) { return reinterpret_cast<R (*)(A...)>(address())(arguments...); }
};

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
namespace plain {

inline constinit plain_call<ssize_t(int, void*, std::size_t)> read{"read"};
inline constinit plain_call<ssize_t(int, void const*, std::size_t)> write{"write"};
inline constinit plain_call<ssize_t(int, iovec const*, int)> readv{"readv"};
inline constinit plain_call<ssize_t(int, iovec const*, int)> writev{"writev"};

inline constinit plain_call<ssize_t(int, void*, std::size_t, int)> recv{"recv"};
inline constinit plain_call<ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*)> recvfrom{"recvfrom"};
inline constinit plain_call<ssize_t(int, msghdr*, int)> recvmsg{"recvmsg"};
inline constinit plain_call<int(int, mmsghdr*, unsigned, int, timespec*)> recvmmsg{"recvmmsg"};
inline constinit plain_call<ssize_t(int, void const*, std::size_t, int)> send{"send"};
inline constinit plain_call<ssize_t(int, void const*, std::size_t, int, sockaddr const*, socklen_t)> sendto{"sendto"};
inline constinit plain_call<ssize_t(int, msghdr const*, int)> sendmsg{"sendmsg"};
inline constinit plain_call<int(int, mmsghdr*, unsigned, int)> sendmmsg{"sendmmsg"};
inline constinit plain_call<int(int, sockaddr*, socklen_t*)> accept{"accept"};
inline constinit plain_call<int(int, sockaddr*, socklen_t*, int)> accept4{"accept4"};
inline constinit plain_call<int(int, sockaddr const*, socklen_t)> connect{"connect"};

inline constinit plain_call<int(pollfd*, nfds_t, int)> poll{"poll"};
inline constinit plain_call<int(pollfd*, nfds_t, timespec const*, sigset_t const*)> ppoll{"ppoll"};
inline constinit plain_call<int(int, fd_set*, fd_set*, fd_set*, timeval*)> select{"select"};
inline constinit plain_call<int(int, fd_set*, fd_set*, fd_set*, timespec const*, sigset_t const*)> pselect{"pselect"};
inline constinit plain_call<int(int, epoll_event*, int, int)> epoll_wait{"epoll_wait"};
inline constinit plain_call<int(int, epoll_event*, int, int, sigset_t const*)> epoll_pwait{"epoll_pwait"};
inline constinit plain_call<int(int, epoll_event*, int, timespec const*, sigset_t const*)> epoll_pwait2{"epoll_pwait2"};

inline constinit plain_call<unsigned(unsigned)> sleep{"sleep"};
inline constinit plain_call<int(useconds_t)> usleep{"usleep"};
inline constinit plain_call<int(timespec const*, timespec*)> nanosleep{"nanosleep"};
inline constinit plain_call<int(clockid_t, int, timespec const*, timespec*)> clock_nanosleep{"clock_nanosleep"};
inline constinit plain_call<int(timespec const*, timespec*)> thrd_sleep{"thrd_sleep"};

inline constinit plain_call<int(char const*, char const*, addrinfo const*, addrinfo**)> getaddrinfo{"getaddrinfo"};
inline constinit plain_call<int(sockaddr const*, socklen_t, char*, socklen_t, char*, socklen_t, int)> getnameinfo{
    "getnameinfo"};
inline constinit plain_call<hostent*(char const*)> gethostbyname{"gethostbyname"};
inline constinit plain_call<hostent*(char const*, int)> gethostbyname2{"gethostbyname2"};
inline constinit plain_call<hostent*(void const*, socklen_t, int)> gethostbyaddr{"gethostbyaddr"};
inline constinit plain_call<int(char const*, hostent*, char*, std::size_t, hostent**, int*)> gethostbyname_r{
    "gethostbyname_r"};
inline constinit plain_call<int(char const*, int, hostent*, char*, std::size_t, hostent**, int*)> gethostbyname2_r{
    "gethostbyname2_r"};
inline constinit plain_call<int(void const*, socklen_t, int, hostent*, char*, std::size_t, hostent**, int*)>
    gethostbyaddr_r{"gethostbyaddr_r"};

inline constinit plain_call<int(int)> close{"close"};
inline constinit plain_call<int(int, int)> dup2{"dup2"};
inline constinit plain_call<int(int, int, int)> dup3{"dup3"};
inline constinit plain_call<int(unsigned, unsigned, int)> close_range{"close_range"};
inline constinit plain_call<void(int)> closefrom{"closefrom"};

}  // namespace plain
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace thrum::posix
