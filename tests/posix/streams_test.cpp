// read, write and related calls on pipes, sockets, terminals, files and other descriptors.
#include "posix/both_ways.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <termios.h>

namespace thrum::test {
namespace {

class posix_streams : public at_every_width {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }
};
THRUM_AT_EVERY_WIDTH(posix_streams);

answer read_some(int fd, std::size_t bytes = 64) {
  std::string data(bytes, '\0');
  long const r = ::read(fd, data.data(), bytes);
  int const error = errno;
  data.resize(r > 0 ? static_cast<std::size_t>(r) : 0);
  errno = error;
  return told(r, data);
}

TEST_P(posix_streams, a_pipe_is_waited_for_and_ends) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_pipe();
    partner const writes([&] {
      c.until_it_waits(1);
      EXPECT_EQ(::write(ends.second, "hello", 5), 5);
      c.until_it_waits(2);
      ends.close_second();
    });
    answers all;
    for (std::size_t const bytes : {64, 64, 0}) {
      c.next();
      all.push_back(read_some(ends.first, bytes));
    }
    return all;
  });
}

TEST_P(posix_streams, more_than_a_pipe_holds_is_written_piece_by_piece) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_pipe();
    std::string const all(1'000'000, 'x');
    std::size_t got = 0;
    answers said;
    {
      partner const reads([&] {
        c.until_it_waits();
        std::vector<char> some(10'000);
        while (long const n = ::read(ends.first, some.data(), some.size())) got += static_cast<std::size_t>(n);
      });
      c.next();
      said.push_back(told(::write(ends.second, all.data(), all.size())));
      iovec const parts[] = {
          {const_cast<char*>(all.data()), 70'000}, {nullptr, 0}, {const_cast<char*>(all.data()), 90'000}};
      said.push_back(told(::writev(ends.second, parts, 3)));
      ends.close_second();
    }
    said.push_back({static_cast<long>(got)});
    return said;
  });
}

TEST_P(posix_streams, a_reader_that_goes_ends_a_write_with_what_it_had) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_pipe();
    answers said;
    std::string const all(1'000'000, 'x');
    {
      partner const reads([&] {
        c.until_it_waits();
        ends.close_first();
      });
      c.next();
      said.push_back(told(::write(ends.second, all.data(), all.size())));
    }
    said.push_back(told(::write(ends.second, "x", 1)));
    return said;
  });
}

TEST_P(posix_streams, what_is_nonblocking_stays_so) {
  answers_alike(procs(), [](caller&) {
    auto ends = make_pipe(O_NONBLOCK);
    std::string const all(1'000'000, 'x');
    answers said{read_some(ends.first), told(::write(ends.second, all.data(), all.size())),
                 told(::write(ends.second, "x", 1))};
    auto sockets = make_sockets(SOCK_STREAM | SOCK_NONBLOCK);
    said.push_back(read_some(sockets.first));
    said.push_back(told(::recv(sockets.first, nullptr, 0, 0)));
    said.push_back(told(::fcntl(ends.first, F_GETFL)));
    return said;
  });
}

TEST_P(posix_streams, errors_are_told_as_ever) {
  answers_alike(procs(), [](caller&) {
    auto ends = make_pipe();
    char byte = 0;
    std::vector<iovec> const parts(2000, iovec{&byte, 1});
    int volatile const negative = -1;  // the compiler would have it otherwise
    int const gone = closed_number(ends.first);
    return answers{read_some(-1),
                   read_some(gone),
                   read_some(ends.second),
                   told(::write(ends.first, "x", 1)),
                   told(::write(gone, "x", 1)),
                   told(::readv(ends.first, parts.data(), negative)),
                   told(::readv(ends.first, parts.data(), 2000)),
                   told(::writev(ends.second, parts.data(), 2000)),
                   told(::recv(ends.first, &byte, 1, 0)),
                   told(::send(ends.second, &byte, 1, 0)),
                   told(::send(gone, &byte, 1, 0))};
  });
}

TEST_P(posix_streams, what_is_open_for_the_other_direction_says_so) {
  answers_alike(procs(), [](caller&) {
    char name[] = "/tmp/thrum_posix_XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    std::string const fifo = std::string(name) + "/fifo";
    EXPECT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    both_ends const named{::open(fifo.c_str(), O_RDWR | O_CLOEXEC), ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC)};
    both_ends const named_to_read{::open(fifo.c_str(), O_RDONLY | O_CLOEXEC), -1};
    EXPECT_EQ(::unlink(fifo.c_str()), 0);
    EXPECT_EQ(::rmdir(name), 0);
    int master = -1;
    int slave = -1;
    char path[100];
    EXPECT_EQ(::openpty(&master, &slave, path, nullptr, nullptr), 0);
    both_ends const terminal{master, slave};
    both_ends const one_way{::open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC),
                            ::open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC)};
    return answers{read_some(named.second), told(::write(named_to_read.first, "x", 1)), read_some(one_way.second),
                   told(::write(one_way.first, "x", 1))};
  });
}

TEST_P(posix_streams, errno_stays_what_it_was_when_all_is_well) {
  run([] {
    leave_m0();
    auto ends = make_pipe();
    auto sockets = make_sockets();
    caller c;
    partner const writes([&] {
      c.until_it_waits(1);
      EXPECT_EQ(::write(ends.second, "x", 1), 1);
      c.until_it_waits(2);
      EXPECT_EQ(::send(sockets.second, "x", 1, 0), 1);
    });
    char byte = 0;
    c.next();
    errno = 12345;
    EXPECT_EQ(::read(ends.first, &byte, 1), 1);
    EXPECT_EQ(errno, 12345);
    c.next();
    EXPECT_EQ(::recv(sockets.first, &byte, 1, 0), 1);
    EXPECT_EQ(errno, 12345);
    EXPECT_EQ(::write(ends.second, &byte, 1), 1);
    EXPECT_EQ(errno, 12345);
  });
}

TEST_P(posix_streams, sockets_wait_for_data_for_all_of_it_and_for_the_end) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_sockets();
    std::array<char, 16> data{};
    answers said;
    partner const writes([&] {
      c.until_it_waits(1);
      EXPECT_EQ(::send(ends.second, "ab", 2, 0), 2);
      c.until_it_waits(2);
      EXPECT_EQ(::send(ends.second, "cdef", 4, 0), 4);
      c.until_it_waits(3);
      EXPECT_EQ(::send(ends.second, "gh", 2, 0), 2);
      ends.close_second();
    });
    auto const note = [&](long r) {
      int const error = errno;
      std::string const got(data.data(), r > 0 ? static_cast<std::size_t>(r) : 0);
      errno = error;
      said.push_back(told(r, got));
      c.next();
    };
    c.next();
    note(::recv(ends.first, data.data(), data.size(), MSG_PEEK));
    note(::recv(ends.first, data.data(), 6, MSG_WAITALL));
    note(::recv(ends.first, data.data(), 6, MSG_WAITALL));
    note(::recv(ends.first, data.data(), 6, 0));
    return said;
  });
}

TEST_P(posix_streams, a_big_message_is_sent_to_its_end) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_sockets();
    std::string const all(4'000'000, 'x');
    std::size_t got = 0;
    answers said;
    {
      partner const reads([&] {
        c.until_it_waits();
        std::vector<char> some(100'000);
        while (long const n = ::read(ends.first, some.data(), some.size())) got += static_cast<std::size_t>(n);
      });
      c.next();
      said.push_back(told(::send(ends.second, all.data(), all.size(), 0)));
      std::vector<iovec> parts(50, iovec{const_cast<char*>(all.data()), 30'000});
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      said.push_back(told(::sendmsg(ends.second, &message, 0)));
      said.push_back(told(::writev(ends.second, parts.data(), 50)));
      ends.close_second();
    }
    said.push_back({static_cast<long>(got)});
    return said;
  });
}

TEST_P(posix_streams, the_time_limits_of_a_socket_are_kept) {
  answers_alike(procs(), [](caller&) {
    auto ends = make_sockets();
    set_limit(ends.first, SO_RCVTIMEO, 20'000);
    set_limit(ends.first, SO_SNDTIMEO, 20'000);
    std::string const all(4'000'000, 'x');
    auto const began = clock::now();
    answers said{read_some(ends.first), told(::send(ends.first, all.data(), all.size(), 0)),
                 told(::send(ends.first, "x", 1, 0))};
    EXPECT_GE(clock::now() - began, std::chrono::milliseconds(60));
    EXPECT_EQ(::send(ends.second, "ab", 2, 0), 2);
    std::array<char, 4> some{};
    said.push_back(told(::recv(ends.first, some.data(), some.size(), MSG_WAITALL)));
    return said;
  });
}

TEST_P(posix_streams, datagrams_come_one_by_one) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_sockets(SOCK_DGRAM);
    std::array<char, 16> data{};
    answers said;
    partner const writes([&] {
      c.until_it_waits(1);
      EXPECT_EQ(::send(ends.second, "one", 3, 0), 3);
      EXPECT_EQ(::send(ends.second, "two", 3, 0), 3);
      EXPECT_EQ(::send(ends.second, "", 0, 0), 0);
      c.until_it_waits(2);
      EXPECT_EQ(::send(ends.second, "four", 4, 0), 4);
    });
    c.next();
    said.push_back(told(::recv(ends.first, data.data(), data.size(), MSG_WAITALL), std::string(data.data(), 3)));
    iovec part{data.data(), data.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    said.push_back(told(::recvmsg(ends.first, &message, 0), std::string(data.data(), 3)));
    said.push_back(told(::recvfrom(ends.first, data.data(), data.size(), 0, nullptr, nullptr)));
    mmsghdr several[3]{};
    for (auto& each : several) each.msg_hdr = message;
    c.next();
    said.push_back(told(::recvmmsg(ends.first, several, 3, MSG_WAITFORONE, nullptr), std::string(data.data(), 4)));
    said.push_back({static_cast<long>(several[0].msg_len)});
    return said;
  });
}

TEST_P(posix_streams, many_datagrams_are_sent_although_the_queue_is_full) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_sockets(SOCK_DGRAM);
    constexpr unsigned count = 500;
    std::size_t got = 0;
    answers said;
    {
      partner const reads([&] {
        c.until_it_waits();
        std::array<char, 16> some{};
        for (; got < count + 1; ++got) EXPECT_EQ(::recv(ends.first, some.data(), some.size(), 0), 3);
      });
      char text[] = "abc";
      iovec part{text, 3};
      std::vector<mmsghdr> all(count);
      for (auto& each : all) {
        each.msg_hdr.msg_iov = &part;
        each.msg_hdr.msg_iovlen = 1;
      }
      c.next();
      said.push_back(told(::sendmmsg(ends.second, all.data(), count, 0)));
      said.push_back({static_cast<long>(all[count - 1].msg_len)});
      said.push_back(told(::sendto(ends.second, text, 3, 0, nullptr, 0)));
    }
    said.push_back({static_cast<long>(got)});
    return said;
  });
}

TEST_P(posix_streams, a_datagram_of_nothing_waits_for_room_as_well) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_sockets(SOCK_DGRAM);
    while (::send(ends.second, "", 0, MSG_DONTWAIT) == 0) {
    }
    partner const reads([&] {
      c.until_it_waits();
      char byte = 0;
      while (::recv(ends.first, &byte, 1, MSG_DONTWAIT) == 0) {  // the kernel may want half of it back first
      }
    });
    c.next();
    return answers{told(::send(ends.second, "", 0, 0))};
  });
}

TEST_P(posix_streams, limits_of_centuries_are_limits) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_sockets();
    timeval const limit{10'000'000'000, 0};
    EXPECT_EQ(::setsockopt(ends.first, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    partner const writes([&] {
      c.until_it_waits();
      EXPECT_EQ(::send(ends.second, "x", 1, 0), 1);
    });
    c.next();
    return answers{read_some(ends.first)};
  });
}

// Its timer was first, but its thread had no time for it until the data was there.
TEST(posix_limits, a_wait_whose_time_is_over_tries_once_more) {
  run_at(1, [] {
    leave_m0();
    int got = 0;
    for (int round = 0; round < 20; ++round) {
      auto ends = make_sockets();
      set_limit(ends.first, SO_RCVTIMEO, 1000);
      wait_group all;
      all.go([&] {
        char byte = 0;
        got += ::recv(ends.first, &byte, 1, 0) == 1 ? 1 : 0;
      });
      EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
      auto const until = clock::now() + std::chrono::milliseconds(2);
      static_cast<void>(spin_until([&] { return clock::now() > until; }));
      EXPECT_EQ(::send(ends.second, "x", 1, MSG_DONTWAIT), 1);
      all.wait();
    }
    EXPECT_GT(got, 0);
  });
}

// Each that was too late sees the next one come: no reason to go to another thread.
TEST_P(posix_streams, many_receivers_of_one_socket_wait_for_it_together) {
  run([] {
    leave_m0();
    auto ends = make_sockets(SOCK_DGRAM);
    constexpr int readers = 20;
    constexpr int count = 2000;
    auto const calls = [] {
      std::uint64_t sum = 0;
      for (rt::P* const p : this_sched().procs) sum += p->counters.syscalls.load(rt::relaxed);
      return sum;
    };
    auto const before = calls();
    std::atomic<int> got{0};
    wait_group all;
    for (int i = 0; i < readers; ++i) {
      all.go([&] {
        char byte = 0;
        while (::recv(ends.first, &byte, 1, 0) == 1) ++got;
      });
    }
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == readers; }));
    for (int i = 0; i < count;) {
      if (::send(ends.second, "x", 1, MSG_DONTWAIT) == 1) {
        ++i;
      } else {
        thrum::yield();
      }
    }
    EXPECT_TRUE(wait_until([&] { return got == count; }));
    EXPECT_EQ(calls(), before);
    for (int i = 0; i < readers; ++i) {
      EXPECT_TRUE(wait_until([&] { return ::send(ends.second, "", 0, MSG_DONTWAIT) == 0; }));
    }
    all.wait();
  });
}

// What was received is told, and the error by the next call, as errno stays what it was.
TEST_P(posix_streams, an_error_after_some_messages_is_left_for_the_next_call) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_sockets(SOCK_SEQPACKET);
    std::array<char, 16> data{};
    iovec part{data.data(), data.size()};
    mmsghdr several[3]{};
    for (auto& each : several) {
      each.msg_hdr.msg_iov = &part;
      each.msg_hdr.msg_iovlen = 1;
    }
    EXPECT_EQ(::send(ends.first, "unread", 6, 0), 6);  // closing a socket with unread data resets the connection
    EXPECT_EQ(::send(ends.second, "one", 3, 0), 3);
    partner const goes([&] {
      c.until_it_waits();
      ends.close_second();
    });
    c.next();
    errno = 12345;
    answers said{told(::recvmmsg(ends.first, several, 3, 0, nullptr))};
    said.push_back({errno == 12345});
    said.push_back(told(::recv(ends.first, data.data(), data.size(), 0)));
    return said;
  });
}

TEST_P(posix_streams, a_terminal_is_read_line_by_line_and_written) {
  answers_alike(procs(), [](caller& c) {
    int master = -1;
    int slave = -1;
    EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
    both_ends const ends{master, slave};
    answers said;
    {
      partner const types([&] {
        c.until_it_waits();
        EXPECT_EQ(::write(master, "a line\n", 7), 7);
      });
      c.next();
      said.push_back(read_some(slave));
    }
    std::string const all(100'000, 'x');
    std::size_t got = 0;
    partner const shows([&] {
      std::vector<char> some(10'000);
      while (got < all.size()) {
        long const n = ::read(master, some.data(), some.size());
        got += static_cast<std::size_t>(n > 0 ? n : 0);
      }
    });
    said.push_back(told(::write(slave, all.data(), all.size())));
    return said;
  });
}

TEST_P(posix_streams, counters_and_timers) {
  answers_alike(procs(), [](caller& c) {
    both_ends const ends{::eventfd(0, 0), ::timerfd_create(CLOCK_MONOTONIC, 0)};
    std::uint64_t value = 0;
    answers said;
    said.push_back(told(::read(ends.first, &value, 4)));  // too short, whatever there is
    said.push_back(told(::read(ends.second, &value, 4)));
    {
      partner const adds([&] {
        c.until_it_waits();
        std::uint64_t const seven = 7;
        EXPECT_EQ(::write(ends.first, &seven, sizeof seven), 8);
      });
      c.next();
      said.push_back(told(::read(ends.first, &value, sizeof value)));
      said.push_back({static_cast<long>(value)});
    }
    itimerspec const soon{{0, 0}, {0, 5'000'000}};
    EXPECT_EQ(::timerfd_settime(ends.second, 0, &soon, nullptr), 0);
    said.push_back(told(::read(ends.second, &value, sizeof value)));
    said.push_back({static_cast<long>(value)});
    value = 1;
    said.push_back(told(::write(ends.first, &value, sizeof value)));
    said.push_back(told(::read(ends.first, &value, 3)));
    return said;
  });
}

TEST_P(posix_streams, files_are_read_and_written_in_one_go) {
  answers_alike(procs(), [](caller&) {
    char name[] = "/tmp/thrum_posix_XXXXXX";
    both_ends const file{::mkstemp(name), ::open("/dev/null", O_RDWR)};
    ::unlink(name);
    std::string data(300'000, 'y');
    answers said{told(::write(file.first, data.data(), data.size())),  {::lseek(file.first, 1000, SEEK_SET)},
                 told(::read(file.first, data.data(), data.size())),   told(::read(file.first, data.data(), 10)),
                 told(::write(file.second, data.data(), data.size())), told(::read(file.second, data.data(), 10))};
    iovec parts[] = {{data.data(), 10}, {data.data() + 10, 20}};
    EXPECT_EQ(::lseek(file.first, 0, SEEK_SET), 0);
    said.push_back(told(::readv(file.first, parts, 2)));
    said.push_back(told(::writev(file.first, parts, 2)));
    said.push_back({::lseek(file.first, 0, SEEK_CUR)});
    return said;
  });
}

}  // namespace
}  // namespace thrum::test
