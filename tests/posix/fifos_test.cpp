// Pipes with a name, which the kernel does not try without waiting: there is a look before each call.
#include "posix/both_ways.h"
#include "support/scale.h"

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

namespace thrum::test {
namespace {

class posix_fifos : public at_every_width {};
THRUM_AT_EVERY_WIDTH(posix_fifos);

// `first` is for reading and `second` for writing. `first` is open for writing, too, so a read from it never reaches
// the end of the file.
both_ends make_fifo(int flags = 0) {
  char folder[] = "/tmp/thrum_fifo_XXXXXX";
  EXPECT_NE(::mkdtemp(folder), nullptr);
  std::string const path = std::string(folder) + "/pipe";
  EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
  int const in = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  both_ends ends{in, ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags)};
  EXPECT_GE(ends.first, 0);
  EXPECT_GE(ends.second, 0);
  ::unlink(path.c_str());
  ::rmdir(folder);
  return ends;
}

iovec part(std::string const& text) { return {const_cast<char*>(text.data()), text.size()}; }

answer drained(int fd, std::size_t bytes) {
  std::string all;
  std::string some(5'000, '\0');
  while (all.size() < bytes) {
    long const n = ::read(fd, some.data(), some.size());
    if (n <= 0) return told(n, all);
    all.append(some.data(), static_cast<std::size_t>(n));
  }
  return {static_cast<long>(all.size()), 0, all};
}

TEST_P(posix_fifos, parts_are_written_whatever_is_empty_among_them) {
  answers_alike(procs(), [](caller&) {
    auto ends = make_fifo();
    std::string const abc = "abc";
    std::string const big(6'000, 'x');
    iovec const small[] = {{nullptr, 0}, part(abc), {nullptr, 0}, part(abc)};
    iovec const large[] = {{nullptr, 0}, part(big), {nullptr, 0}, part(abc)};
    iovec const nothing[] = {{nullptr, 0}, {nullptr, 0}};
    answers said;
    said.push_back(told(::writev(ends.second, small, 4)));
    said.push_back(drained(ends.first, 6));
    said.push_back(told(::writev(ends.second, large, 4)));
    said.push_back(drained(ends.first, 6'003));
    said.push_back(told(::writev(ends.second, nothing, 2)));
    return said;
  });
}

TEST_P(posix_fifos, one_that_is_nonblocking_takes_what_it_has_room_for) {
  answers_alike(procs(), [](caller&) {
    auto ends = make_fifo(O_NONBLOCK);
    std::string const some(10'000, 'x');
    std::vector<iovec> const parts(100, iovec{const_cast<char*>(some.data()), 100});
    answers said;
    said.push_back(told(::write(ends.second, some.data(), some.size())));
    said.push_back(told(::writev(ends.second, parts.data(), static_cast<int>(parts.size()))));
    std::string const all(1'000'000, 'x');
    said.push_back(told(::write(ends.second, all.data(), all.size())));
    said.push_back(told(::write(ends.second, "x", 1)));
    return said;
  });
}

TEST_P(posix_fifos, more_than_it_holds_is_written_piece_by_piece) {
  answers_alike(procs(), [](caller& c) {
    auto ends = make_fifo();
    std::string const all(300'000, 'x');
    answer got{0};
    answers said;
    {
      partner const reads([&] {
        c.until_it_waits();
        got = drained(ends.first, all.size());
      });
      c.next();
      said.push_back(told(::write(ends.second, all.data(), all.size())));
    }
    said.push_back(got);
    return said;
  });
}

TEST_P(posix_fifos, what_there_is_room_for_never_switches) {
  run([] {
    leave_m0();
    auto ends = make_fifo();
    std::string some(20'000, 'x');
    auto const before = this_p().counters.parks();
    EXPECT_EQ(::write(ends.second, some.data(), some.size()), 20'000);
    EXPECT_EQ(::read(ends.first, some.data(), some.size()), 20'000);
    EXPECT_EQ(this_p().counters.parks(), before);
  });
}

TEST_P(posix_fifos, what_is_short_is_not_torn) {
  run([] {
    auto ends = make_fifo();
    constexpr int writers = 8;
    constexpr std::size_t bytes = 12;
    int const rounds = static_cast<int>(scaled(200, 20));
    wait_group all;
    for (int i = 0; i < writers; ++i) {
      all.go([&, i] {
        std::string const four(4, static_cast<char>('a' + i));
        std::array<iovec, 3> const parts{part(four), part(four), part(four)};
        for (int round = 0; round < rounds; ++round) {
          EXPECT_EQ(::writev(ends.second, parts.data(), 3), 12);
          thrum::yield();
        }
      });
    }
    for (int i = 0; i < writers * rounds; ++i) {
      std::string got(bytes, '\0');
      ASSERT_EQ(::read(ends.first, got.data(), bytes), 12);
      ASSERT_EQ(got, std::string(bytes, got[0]));
    }
    all.wait();
  });
}

// One byte wakes all readers. The readers that come too late must not sleep in the kernel.
TEST_P(posix_fifos, of_many_readers_one_gets_it_and_the_others_wait_on) {
  run([] {
    auto ends = make_fifo();
    constexpr int readers = 20;
    std::atomic<int> got{0};
    wait_group all;
    for (int i = 0; i < readers; ++i) {
      all.go([&] {
        char byte = 0;
        EXPECT_EQ(::read(ends.first, &byte, 1), 1);
        ++got;
      });
    }
    for (int i = 0; i <= readers; ++i) {
      ASSERT_TRUE(wait_until([&] { return got == i && waiting_for(rt::wait_reason::io) == readers - i; })) << i;
      if (i < readers) {
        EXPECT_EQ(::write(ends.second, "x", 1), 1);
      }
    }
    all.wait();
  });
}

}  // namespace
}  // namespace thrum::test
