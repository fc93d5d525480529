// A call of the C library, made by a thread and by a goroutine: both must be told the same.
//
//   answers_alike(procs, [](caller& c) {
//     ... partner: c.until_it_waits(); ...
//     c.next();
//     return answers{told(::read(fd, ...)), ...};
//   });
#pragma once

#include "core/current.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace thrum::test {

struct answer {
  answer(long its_result, int its_error = 0, std::string its_data = {})
      : result(its_result), error(its_error), data(std::move(its_data)) {}

  long result;
  int error;  // if it failed
  std::string data;

  friend bool operator==(answer const&, answer const&) = default;
  friend std::ostream& operator<<(std::ostream& out, answer const& a) {
    out << a.result;
    if (a.error != 0) out << " (errno " << a.error << ")";
    if (!a.data.empty()) out << " \"" << a.data.substr(0, 40) << '"';
    return out;
  }
};
using answers = std::vector<answer>;

// With errno as the call has left it.
inline answer told(long result, std::string data = {}) { return {result, result < 0 ? errno : 0, std::move(data)}; }

// The goroutine or thread that makes the calls, as its partner sees it.
class caller {
 public:
  caller() : tid_(rt::os::current_tid()) {
    if (rt::M const* const m = rt::current_m()) g_ = m->current;
  }

  [[nodiscard]] bool is_goroutine() const noexcept { return g_ != nullptr; }

  // Before a call in which a partner is to see it wait.
  void next() { ++calls_; }

  // On another thread: in its n-th such call.
  void until_it_waits(int n = 1) const {
    rt::os::thread_watch watch;
    EXPECT_TRUE(spin_until([&] {
      if (calls_ != n) return false;
      if (g_ != nullptr) return g_->status.load(rt::acquire) == rt::g_status::waiting;
      return watch.look(tid_).activity == rt::os::thread_activity::sleeps_in_call;
    }));
  }

 private:
  int tid_;
  rt::G const* g_ = nullptr;
  std::atomic<int> calls_{0};
};

// Runs a function on a thread of its own, and joins the thread in the destructor.
class partner {
 public:
  template <class F>
  explicit partner(F f) : thread_(std::move(f)) {}
  ~partner() {
    blocking([&] { thread_.join(); });
  }
  partner(partner const&) = delete;
  partner& operator=(partner const&) = delete;

 private:
  std::thread thread_;
};

template <class Scenario>
void answers_alike(int procs, Scenario scenario) {
  answers as_thread;
  std::thread([&] {
    caller c;
    as_thread = scenario(c);
  }).join();
  for (bool on_first_thread : {false, true}) {
    answers as_goroutine;
    run_at(procs, [&] {
      if (!on_first_thread) leave_m0();
      caller c;
      as_goroutine = scenario(c);
    });
    char const* const who = on_first_thread ? "main, on the first thread" : "a goroutine";
    ASSERT_EQ(as_goroutine.size(), as_thread.size()) << who;
    for (std::size_t i = 0; i < as_thread.size(); ++i) EXPECT_EQ(as_goroutine[i], as_thread[i]) << who;
  }
}

struct both_ends {
  both_ends() = default;
  both_ends(int a, int b) : first(a), second(b) {}
  both_ends(both_ends&& other) noexcept
      : first(std::exchange(other.first, -1)), second(std::exchange(other.second, -1)) {}
  both_ends& operator=(both_ends&&) = delete;
  ~both_ends() {
    close_first();
    close_second();
  }
  void close_first() { close(first); }
  void close_second() { close(second); }
  int first = -1;
  int second = -1;

 private:
  // `end` is changed after close. A goroutine that waits for the file has read the number before, and close knows all
  // goroutines that wait.
  static void close(int& end) {
    if (end < 0) return;
    ::close(end);
    end = -1;
  }
};

// The same file under a high number, which no other file gets when it is closed. The runtime's threads open files, too.
inline int high_up(int fd) {
  constexpr int high = 900;  // below FD_SETSIZE
  int const made = ::fcntl(fd, F_DUPFD, high);
  EXPECT_GE(made, high);
  return made;
}

inline int closed_number(int fd) {
  int const made = high_up(fd);
  ::close(made);
  return made;
}

// first is read, second written.
inline both_ends make_pipe(int flags = 0) {
  int fds[2]{};
  EXPECT_EQ(::pipe2(fds, flags), 0);
  return {fds[0], fds[1]};
}

inline both_ends make_sockets(int type = SOCK_STREAM) {
  int fds[2]{};
  EXPECT_EQ(::socketpair(AF_UNIX, type, 0, fds), 0);
  return {fds[0], fds[1]};
}

// SO_RCVTIMEO or SO_SNDTIMEO.
inline void set_limit(int fd, int which, long us) {
  timeval const limit{us / 1'000'000, us % 1'000'000};
  EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, which, &limit, sizeof limit), 0);
}

// A goroutine that reads from a pipe until the number of that end is closed, or refers to another file.
class reader_of_a_closed_pipe {
 public:
  explicit reader_of_a_closed_pipe(both_ends const& pipe) {
    ended_.go([&pipe] {
      char byte = 0;
      EXPECT_EQ(::read(pipe.first, &byte, 1), -1);
      EXPECT_EQ(errno, EBADF);
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
  }
  void wait() { ended_.wait(); }

 private:
  wait_group ended_;
};

// Until it takes no more.
inline void fill(int fd) {
  int const flags = ::fcntl(fd, F_GETFL);
  EXPECT_EQ(::fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
  std::string const some(1000, 'x');
  for (std::size_t const bytes : {some.size(), std::size_t{1}}) {
    while (::syscall(SYS_write, fd, some.data(), bytes) > 0) {
    }
  }
  EXPECT_EQ(::fcntl(fd, F_SETFL, flags), 0);
}

}  // namespace thrum::test
