// accept and connect; and names.
#include "posix/both_ways.h"

#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace thrum::test {
namespace {

class posix_connections : public at_every_width {};
THRUM_AT_EVERY_WIDTH(posix_connections);

// A socket that listens on the loopback, and where.
struct listener {
  explicit listener(int type = SOCK_STREAM) : ends(::socket(AF_INET, type, 0), -1) {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(ends.first, where(), sizeof address), 0);
    EXPECT_EQ(::listen(ends.first, 100), 0);
    socklen_t bytes = sizeof address;
    EXPECT_EQ(::getsockname(ends.first, where(), &bytes), 0);
  }
  [[nodiscard]] int fd() const { return ends.first; }
  [[nodiscard]] sockaddr* where() { return reinterpret_cast<sockaddr*>(&address); }

  sockaddr_in address{};
  both_ends ends;
};

TEST_P(posix_connections, an_accept_waits_for_a_connect) {
  answers_alike(procs(), [](caller& c) {
    listener listens;
    answers said;
    partner const connects([&] {
      for (int i = 1; i <= 2; ++i) {
        c.until_it_waits(i);
        both_ends const mine{::socket(AF_INET, SOCK_STREAM, 0), -1};
        EXPECT_EQ(::connect(mine.first, listens.where(), sizeof listens.address), 0);
        EXPECT_EQ(::send(mine.first, "x", 1, 0), 1);
      }
    });
    sockaddr_in from{};
    socklen_t bytes = sizeof from;
    c.next();
    both_ends const first{::accept(listens.fd(), reinterpret_cast<sockaddr*>(&from), &bytes), -1};
    said.push_back({first.first >= 0, 0, std::to_string(bytes) + "/" + std::to_string(from.sin_family)});
    c.next();
    both_ends const second{::accept4(listens.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), -1};
    said.push_back({::fcntl(second.first, F_GETFL) & O_NONBLOCK});
    said.push_back({::fcntl(second.first, F_GETFD)});
    char byte = 0;
    said.push_back(told(::read(first.first, &byte, 1), std::string(1, byte)));
    said.push_back(told(::read(first.first, &byte, 1)));
    return said;
  });
}

TEST_P(posix_connections, accept_has_the_sockets_limit_and_its_flags) {
  answers_alike(procs(), [](caller&) {
    listener listens;
    timeval const limit{0, 20'000};
    EXPECT_EQ(::setsockopt(listens.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    answers said{told(::accept(listens.fd(), nullptr, nullptr))};
    EXPECT_EQ(::fcntl(listens.fd(), F_SETFL, O_NONBLOCK), 0);
    said.push_back(told(::accept(listens.fd(), nullptr, nullptr)));
    auto pipe = make_pipe();
    said.push_back(told(::accept(pipe.first, nullptr, nullptr)));
    said.push_back(told(::accept(-1, nullptr, nullptr)));
    both_ends const idle{::socket(AF_INET, SOCK_STREAM, 0), -1};
    said.push_back(told(::accept(idle.first, nullptr, nullptr)));
    return said;
  });
}

TEST_P(posix_connections, connect_tells_how_it_went) {
  answers_alike(procs(), [](caller&) {
    listener listens;
    both_ends const good{::socket(AF_INET, SOCK_STREAM, 0), ::socket(AF_INET, SOCK_DGRAM, 0)};
    answers said{told(::connect(good.first, listens.where(), sizeof listens.address)),
                 told(::connect(good.first, listens.where(), sizeof listens.address)),
                 told(::connect(good.second, listens.where(), sizeof listens.address)),
                 told(::fcntl(good.first, F_GETFL))};
    listens.ends.close_first();
    both_ends const bad{::socket(AF_INET, SOCK_STREAM, 0), -1};
    said.push_back(told(::connect(bad.first, listens.where(), sizeof listens.address)));
    said.push_back(told(::connect(-1, listens.where(), sizeof listens.address)));
    return said;
  });
}

// Two goroutines see that a connection has come. The goroutine that does not get it must not keep its thread.
TEST_P(posix_connections, of_many_accepts_each_gets_one) {
  run([] {
    listener listens;
    constexpr int count = 20;
    std::atomic<int> accepted{0};
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&] {
        both_ends const got{::accept(listens.fd(), nullptr, nullptr), -1};
        EXPECT_GE(got.first, 0);
        ++accepted;
      });
    }
    std::vector<both_ends> mine;
    for (int i = 0; i < count; ++i) {
      mine.emplace_back(::socket(AF_INET, SOCK_STREAM, 0), -1);
      EXPECT_EQ(::connect(mine.back().first, listens.where(), sizeof listens.address), 0);
      EXPECT_TRUE(wait_until([&] { return accepted == i + 1; }));
    }
    all.wait();
  });
}

int in_announced_calls() {
  rt::runtime_mark const mark;
  int count = 0;
  this_sched().records.for_each_g([&](rt::G const& g) {
    if (g.status.load(rt::relaxed) == rt::g_status::syscall) ++count;
  });
  return count;
}

// All goroutines see the same new connections. The goroutines that get none must not keep a thread each.
TEST_P(posix_connections, many_accepts_do_not_wait_on_threads_of_their_own) {
  run([] {
    leave_m0();
    listener listens;
    constexpr int count = 50;
    constexpr int come = 20;
    std::atomic<int> accepted{0};
    std::atomic<int> told_of_close{0};
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&] {
        both_ends const got{::accept(listens.fd(), nullptr, nullptr), -1};
        if (got.first >= 0) {
          ++accepted;
        } else {
          EXPECT_EQ(errno, EBADF);
          ++told_of_close;
        }
      });
    }
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == count; }));
    std::vector<both_ends> mine;
    for (int i = 0; i < come; ++i) {
      mine.emplace_back(::socket(AF_INET, SOCK_STREAM, 0), -1);
      blocking([&] { EXPECT_EQ(::connect(mine.back().first, listens.where(), sizeof listens.address), 0); });
    }
    EXPECT_TRUE(wait_until([&] { return accepted == come; }));
    EXPECT_TRUE(wait_until([&] { return in_announced_calls() == 0; }));
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == count - come; }));
    listens.ends.close_first();
    all.wait();
    EXPECT_EQ(told_of_close, count - come);
  });
}

// The goroutines that accept wait in a queue, and the first of them wait for a listener that is closed.
TEST_P(posix_connections, a_new_listener_under_a_number_that_was_closed_unseen_has_its_turn) {
  run([] {
    leave_m0();
    listener old;
    ::close(std::exchange(old.ends.first, high_up(old.fd())));
    listener listens;
    std::atomic<int> told_so{0};
    wait_group all;
    for (int i = 0; i < 2; ++i) {
      all.go([&] {
        EXPECT_EQ(::accept(old.fd(), nullptr, nullptr), -1);
        EXPECT_EQ(errno, EBADF);
        ++told_so;
      });
    }
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 2; }));
    EXPECT_EQ(::syscall(SYS_dup3, listens.fd(), old.fd(), 0), old.fd());
    all.go([&] {
      both_ends const got{::accept(old.fd(), nullptr, nullptr), -1};
      EXPECT_GE(got.first, 0);
    });
    EXPECT_TRUE(wait_until([&] { return told_so == 2; }));
    both_ends const mine{::socket(AF_INET, SOCK_STREAM, 0), -1};
    EXPECT_EQ(::connect(mine.first, listens.where(), sizeof listens.address), 0);
    all.wait();
  });
}

TEST_P(posix_connections, names_are_looked_up_as_ever) {
  answers_alike(procs(), [](caller&) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    answers said{{::getaddrinfo("localhost", "80", &hints, &found)}};
    said.push_back({found != nullptr ? ntohs(reinterpret_cast<sockaddr_in*>(found->ai_addr)->sin_port) : 0});
    if (found != nullptr) {
      std::array<char, 100> name{};
      said.push_back(
          {::getnameinfo(found->ai_addr, found->ai_addrlen, name.data(), name.size(), nullptr, 0, 0), 0, name.data()});
      ::freeaddrinfo(found);
    }
    said.push_back({::getaddrinfo("localhost", "no such service", &hints, &found)});
    h_errno = 0;
    said.push_back({::gethostbyname("name with spaces") != nullptr});
    said.push_back({h_errno});
    hostent const* const host = ::gethostbyname("localhost");
    said.push_back({host != nullptr, 0, host != nullptr ? host->h_name : ""});
    hostent result{};
    hostent* there = nullptr;
    std::array<char, 2000> memory{};
    int error = 0;
    said.push_back({::gethostbyname_r("localhost", &result, memory.data(), memory.size(), &there, &error)});
    said.push_back({there != nullptr});
    said.push_back({::gethostbyname2_r("localhost", AF_INET, &result, memory.data(), 3, &there, &error)});
    said.push_back({error});
    return said;
  });
}

}  // namespace
}  // namespace thrum::test
