// read, write and related calls on sockets.
#include "base/atomic.h"
#include "posix/both_ways.h"
#include "posix/streams.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace thrum::test {
namespace {

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
        got = read_to_the_end(ends.first, 100'000);
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

// The timer fires first, but its goroutine has no turn before the data is there.
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

// A receiver that is woken too late waits again. It does not become a thread in a system call.
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

// The call returns what was received and leaves errno as it was. The next call returns the error.
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

}  // namespace
}  // namespace thrum::test
