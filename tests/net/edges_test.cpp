// Descriptors where the kernel, another process or the end of a run does something unusual.
#include "support/descriptors.h"
#include "support/run_at.h"
#include "support/send_descriptor.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

class net_edges : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(net_edges);

std::atomic<int> broken_pipes{0};

// The program's own handler of SIGPIPE, for as long as it lives.
class pipe_watch {
 public:
  pipe_watch() {
    broken_pipes = 0;
    struct sigaction counts {};
    counts.sa_handler = [](int) { ++broken_pipes; };
    ::sigaction(SIGPIPE, &counts, &before_);
  }
  ~pipe_watch() { ::sigaction(SIGPIPE, &before_, nullptr); }
  pipe_watch(pipe_watch const&) = delete;
  pipe_watch& operator=(pipe_watch const&) = delete;

 private:
  struct sigaction before_ {};
};

TEST_P(net_edges, NE19_sending_a_file_to_a_peer_that_is_gone_is_an_error_and_no_signal) {
  pipe_watch const watched;
  run([] {
    int const file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    for (int i = 0; i < 20; ++i) {
      auto sockets = test::socket_pair();
      sockets.b.close();
      std::error_code error;
      static_cast<void>(sockets.a.send_file(file, 0, 4096, error));
      EXPECT_EQ(error, std::errc::broken_pipe);
      auto other = test::socket_pair();
      auto feeder = test::socket_pair();
      other.b.close();
      feeder.b.write_all("text");
      feeder.b.close();
      static_cast<void>(splice_all(feeder.a, other.a, error));
      EXPECT_EQ(error, std::errc::broken_pipe);
    }
    // The first part is sent, and what comes back for it breaks the rest.
    for (int i = 0; i < 20; ++i) {
      auto listener = tcp_listener::listen("127.0.0.1:0");
      auto conn = tcp_conn::dial(listener.local_endpoint());
      listener.accept().close();
      std::error_code error;
      while (!error) static_cast<void>(conn.send_file(file, 0, 1U << 20U, error));
    }
    ::close(file);
  });
  EXPECT_EQ(broken_pipes, 0);
}

// A read ends where a descriptor was passed, though more is there: so a short one says nothing about what is left.
TEST_P(net_edges, S25_a_short_read_of_a_unix_stream_hides_nothing) {
  run([] {
    auto sockets = test::socket_pair();
    go([&] {
      ASSERT_EQ(test::send_with_descriptor(sockets.b.native_handle(), "1", STDERR_FILENO), 1);
      ASSERT_EQ(::send(sockets.b.native_handle(), "0123456789", 10, MSG_NOSIGNAL), 10);
    });
    std::array<char, 100> bytes{};
    std::size_t got = 0;
    while (got < 11) got += sockets.a.read_some({bytes.data() + got, bytes.size() - got});
    EXPECT_EQ(std::string(bytes.data(), got), "10123456789");
  });
}

TEST_P(net_edges, S25_a_child_that_closes_what_it_inherited_does_not_disturb_its_parent) {
  run([] {
    auto sockets = test::socket_pair();
    pid_t const child = ::fork();
    if (child == 0) {
      ::alarm(30);  // it must not outlive the test
      sockets.a.close();
      ::_exit(7);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    EXPECT_EQ(WEXITSTATUS(status), 7);
    auto reader = spawn([&] {
      char byte = 0;
      return sockets.a.read_some({&byte, 1});
    });
    yield();
    sockets.b.write_all("x");
    EXPECT_EQ(reader.join(), 1U);
  });
}

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

// The goroutines that close wakes may not run any more, because the run ends right afterwards.
TEST_P(net_edges, T12_what_was_closed_when_the_run_ended_is_closed) {
  int descriptor = -1;
  fd kept;
  int of_kept = -1;
  run([&] {
    auto sockets = test::socket_pair();
    auto others = test::socket_pair();
    descriptor = sockets.a.native_handle();
    of_kept = others.a.native_handle();
    kept = std::move(others.a);
    for (fd* const each : {&sockets.a, &kept}) {
      go([each] {
        char byte = 0;
        std::error_code error;
        static_cast<void>(each->read_some({&byte, 1}, error));
      });
    }
    ASSERT_TRUE(test::wait_until([&] { return read_stats().waiting >= 2; }));
    kept.close();
    sockets.a.close();  // and dropped, with this frame
  });
  EXPECT_FALSE(is_open(descriptor));
  kept = fd();
  EXPECT_FALSE(is_open(of_kept));
}

TEST_P(net_edges, NE08_a_deadline_that_passed_between_two_runs_has_passed) {
  fd a;
  fd b;
  run([&] {
    auto sockets = test::socket_pair();
    a = std::move(sockets.a);
    b = std::move(sockets.b);
    b.write_all("x");
    a.set_read_deadline(1ms);
  });
  auto const until = clock::now() + 2ms;
  while (clock::now() < until) {
  }
  run([&] {
    char byte = 0;
    std::error_code error;
    static_cast<void>(a.read_some({&byte, 1}, error));
    EXPECT_EQ(error, std::errc::timed_out);
  });
}

// Each call finds what it needs, so none waits.
template <class Between>
void exchange_until(std::errc expected, test::pair_of_fds& sockets, Between between) {
  std::error_code error;
  auto const patience = clock::now() + 10s;
  while (!error && clock::now() < patience) {
    char byte = 'x';
    static_cast<void>(sockets.b.write_some({&byte, 1}, error));
    if (!error) static_cast<void>(sockets.a.read_some({&byte, 1}, error));
    between();
  }
  EXPECT_EQ(error, expected);
}

TEST_P(net_edges, NE08_a_deadline_that_was_set_before_the_run_ends_calls_that_never_wait) {
  auto sockets = test::socket_pair();
  sockets.a.set_read_deadline(5ms);
  run([&] {
    exchange_until(std::errc::timed_out, sockets, [] { yield(); });  // at one P no other M checks the clock
  });
}

TEST(net_without_a_run, NE08_a_deadline_ends_calls) {
  auto sockets = test::socket_pair();
  sockets.a.set_read_deadline(5ms);
  exchange_until(std::errc::timed_out, sockets, [] {});
}

TEST(net_without_a_run, NE_a_thread_that_would_wait_for_room_at_a_unix_socket_is_told_so) {
  auto const name = "@thrum_no_run_" + std::to_string(::getpid());
  auto full = unix_datagram::bind(name);
  auto sender = unix_datagram::bind(name + "s");
  auto const fill = [&] {
    for (;;) static_cast<void>(sender.send_to("x", endpoint::unix_path(name)));
  };
  EXPECT_THROW(fill(), std::logic_error);
}

// The listener's backlog is full, so the call would have to wait.
TEST(net_without_a_run, S25_a_dial_that_would_wait_throws_and_leaves_nothing_behind) {
  int const full = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  endpoint at = endpoint::parse("127.0.0.1:0");
  socklen_t bytes = at.size();
  ASSERT_EQ(::bind(full, static_cast<sockaddr const*>(at.data()), bytes), 0);
  ASSERT_EQ(::listen(full, 0), 0);
  ASSERT_EQ(::getsockname(full, static_cast<sockaddr*>(at.data()), &bytes), 0);
  std::vector<int> standing;
  for (int i = 0; i < 4; ++i) {
    standing.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    static_cast<void>(::connect(standing.back(), static_cast<sockaddr const*>(at.data()), bytes));
  }
  static_cast<void>(test::socket_pair());  // what the process makes once is there
  int const before = test::open_descriptors();
  EXPECT_THROW(tcp_conn::dial(at, 1s), std::logic_error);
  EXPECT_EQ(test::open_descriptors(), before);
  for (int const each : standing) ::close(each);
  ::close(full);
}

}  // namespace
}  // namespace thrum
