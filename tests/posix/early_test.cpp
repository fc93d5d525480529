// What must not wait for its first use, or for a constructor of the library.
#include "posix/both_ways.h"
#include "posix/here.h"
#include "posix/plain.h"

#include <cstdlib>

namespace thrum::test {
namespace {

// A run that is over before main, and perhaps before the library's own constructors.
[[maybe_unused]] bool const waited_before_main = [] {
  thrum::run([] {
    int fds[2]{};
    char byte = 0;
    if (::pipe(fds) != 0) std::abort();
    go([&] {
      while (waiting_for(rt::wait_reason::io) == 0) thrum::yield();
      if (::write(fds[1], "x", 1) != 1) std::abort();
    });
    if (::read(fds[0], &byte, 1) != 1) std::abort();
    ::close(fds[0]);
    ::close(fds[1]);
  });
  return true;
}();

// T01: the loader has a lock. If the loader were asked at the first use of a function, its lock would be taken under a
// lock of the scheduler, in a child of fork or in a signal handler.
TEST(posix_early, T01_the_loader_is_not_asked_at_the_first_use) {
  namespace plain = posix::plain;
  posix::plain_function const* const all[] = {&plain::read,
                                              &plain::write,
                                              &plain::readv,
                                              &plain::writev,
                                              &plain::recv,
                                              &plain::recvfrom,
                                              &plain::recvmsg,
                                              &plain::recvmmsg,
                                              &plain::send,
                                              &plain::sendto,
                                              &plain::sendmsg,
                                              &plain::sendmmsg,
                                              &plain::accept,
                                              &plain::accept4,
                                              &plain::connect,
                                              &plain::poll,
                                              &plain::ppoll,
                                              &plain::select,
                                              &plain::pselect,
                                              &plain::epoll_wait,
                                              &plain::epoll_pwait,
                                              &plain::sleep,
                                              &plain::usleep,
                                              &plain::nanosleep,
                                              &plain::clock_nanosleep,
                                              &plain::thrd_sleep,
                                              &plain::getaddrinfo,
                                              &plain::getnameinfo,
                                              &plain::gethostbyname,
                                              &plain::gethostbyname2,
                                              &plain::gethostbyaddr,
                                              &plain::gethostbyname_r,
                                              &plain::gethostbyname2_r,
                                              &plain::gethostbyaddr_r,
                                              &plain::close,
                                              &plain::dup2,
                                              &plain::dup3};
  for (auto const* each : all) EXPECT_TRUE(each->is_found());
}

// A thread that makes a call for a goroutine with a large stack has a large stack as well, because the library that
// looks up names may need it.
TEST(posix_early, a_call_by_another_has_as_much_stack) {
  run_at(2, [] {
    leave_m0();
    constexpr std::size_t bytes = 4U << 20U;
    spawn(stack_size{bytes}, [] {
      int const result = posix::by_helper([] {
        char volatile deep[bytes / 2];
        for (std::size_t i = 0; i < sizeof deep; i += 1024) deep[i] = 1;
        return static_cast<int>(deep[1024]);
      });
      EXPECT_EQ(result, 1);
    }).join();
  });
}

}  // namespace
}  // namespace thrum::test
