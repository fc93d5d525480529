// read, write and related calls on pipes, terminals, files and other descriptors.
#include "posix/streams.h"

#include "posix/both_ways.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
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
#include <unistd.h>

namespace thrum::test {
namespace {

THRUM_AT_EVERY_WIDTH(posix_streams);  // also for the tests of this suite in other files

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
        got = read_to_the_end(ends.first, 10'000);
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
    int volatile const negative = -1;  // otherwise the compiler would warn
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
