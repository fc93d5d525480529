// Every call on every kind of descriptor: whatever it says to a thread, it says to a goroutine.
#include "posix/both_ways.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <poll.h>
#include <pty.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>

// What programs that were compiled with _FORTIFY_SOURCE call.
extern "C" {
ssize_t __read_chk(int fd, void* data, std::size_t bytes, std::size_t room);
ssize_t __recv_chk(int fd, void* data, std::size_t bytes, std::size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void* data, std::size_t bytes, std::size_t room, int flags, sockaddr* from,
                       socklen_t* size);
int __poll_chk(pollfd* fds, nfds_t count, int ms, std::size_t room);
int __ppoll_chk(pollfd* fds, nfds_t count, timespec const* limit, sigset_t const* mask, std::size_t room);
}

namespace thrum::test {
namespace {

class posix_every_call : public at_every_width {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }
};
THRUM_AT_EVERY_WIDTH(posix_every_call);

// --- the descriptors: first is read, second written ---

both_ends tcp_sockets() {
  both_ends listener{::socket(AF_INET, SOCK_STREAM, 0), -1};
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  EXPECT_EQ(::bind(listener.first, address, bytes), 0);
  EXPECT_EQ(::listen(listener.first, 1), 0);
  EXPECT_EQ(::getsockname(listener.first, address, &bytes), 0);
  int const client = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(client, address, bytes), 0);
  return {::accept(listener.first, nullptr, nullptr), client};
}

both_ends terminal() {
  int master = -1;
  int slave = -1;
  termios raw{};
  ::cfmakeraw(&raw);
  raw.c_cc[VMIN] = 1;
  EXPECT_EQ(::openpty(&master, &slave, nullptr, &raw, nullptr), 0);
  return {slave, master};
}

both_ends terminal_that_is_written() {
  both_ends other = terminal();
  return {std::exchange(other.second, -1), std::exchange(other.first, -1)};
}

both_ends file() {
  char path[] = "/tmp/thrum_posix_XXXXXX";
  int const writes = ::mkstemp(path);
  int const reads = ::open(path, O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(::unlink(path), 0);
  return {reads, writes};
}

both_ends twice(int fd) { return {fd, ::dup(fd)}; }
both_ends counter() { return twice(::eventfd(0, 0)); }
both_ends null() { return twice(::open("/dev/null", O_RDWR | O_CLOEXEC)); }
both_ends folder() { return twice(::open("/tmp", O_RDONLY | O_CLOEXEC)); }

struct kind {
  char const* name;
  both_ends (*open)();
  bool waits;         // a reader waits for data
  bool keeps = true;  // buffer space that was filled stays filled until it is read
};
kind const kinds[] = {
    {"pipe", [] { return make_pipe(); }, true},
    {"stream", [] { return make_sockets(); }, true},
    {"datagrams", [] { return make_sockets(SOCK_DGRAM); }, true},
    {"packets", [] { return make_sockets(SOCK_SEQPACKET); }, true},
    {"TCP", tcp_sockets, true, false},
    {"terminal", terminal, true, false},
    {"terminal, written", terminal_that_is_written, true, false},
    {"counter", counter, true},
    {"file", file, false},
    {"null", null, false},
    {"folder", folder, false},
};

// --- the calls ---

constexpr std::size_t room = 8;

// A counter is read and written in eights.
char const* const data = "12345678";

answer with_data(long r, char const* from) {
  return told(r, std::string(from, r > 0 ? static_cast<std::size_t>(r) : 0));
}

template <class F>
answer into_memory(F f) {
  char memory[room]{};
  long const r = f(memory);
  return with_data(r, memory);
}

template <class F>
answer into_message(F f) {
  char memory[room]{};
  iovec parts[] = {{memory, 3}, {memory + 3, room - 3}};
  mmsghdr message{};
  message.msg_hdr.msg_iov = parts;
  message.msg_hdr.msg_iovlen = 2;
  long const r = f(message);
  answer said = with_data(r, memory);
  said.data += " " + std::to_string(message.msg_len) + " " + std::to_string(message.msg_hdr.msg_flags);
  return said;
}

template <class F>
answer looks(int fd, short events, F f) {
  pollfd one{fd, events, 0};
  long const r = f(one);
  return told(r, std::to_string(one.revents));
}

template <class F>
answer selects(int fd, F f) {
  fd_set in;
  fd_set out;
  for (fd_set* const set : {&in, &out}) {
    FD_ZERO(set);
    FD_SET(fd, set);
  }
  long const r = f(in, out);
  return told(r, std::to_string(FD_ISSET(fd, &in)) + std::to_string(FD_ISSET(fd, &out)));
}

template <class F>
answer epolls(int fd, F f) {
  both_ends const instance{::epoll_create1(0), -1};
  epoll_event event{EPOLLIN, {}};
  if (::epoll_ctl(instance.first, EPOLL_CTL_ADD, fd, &event) != 0) return told(-1, "cannot be added");
  event = {};
  long const r = f(instance.first, event);
  return told(r, std::to_string(event.events));
}

struct call {
  char const* name;
  answer (*make)(int fd);
};

call const readers[] = {
    {"read", [](int fd) { return into_memory([=](char* to) { return ::read(fd, to, room); }); }},
    {"__read_chk", [](int fd) { return into_memory([=](char* to) { return ::__read_chk(fd, to, room, room); }); }},
    {"readv", [](int fd) { return into_message([=](mmsghdr& m) { return ::readv(fd, m.msg_hdr.msg_iov, 2); }); }},
    {"recv", [](int fd) { return into_memory([=](char* to) { return ::recv(fd, to, room, 0); }); }},
    {"recv, a look", [](int fd) { return into_memory([=](char* to) { return ::recv(fd, to, room, MSG_PEEK); }); }},
    {"__recv_chk", [](int fd) { return into_memory([=](char* to) { return ::__recv_chk(fd, to, room, room, 0); }); }},
    {"recvfrom",
     [](int fd) { return into_memory([=](char* to) { return ::recvfrom(fd, to, room, 0, nullptr, nullptr); }); }},
    {"__recvfrom_chk",
     [](int fd) {
       return into_memory([=](char* to) { return ::__recvfrom_chk(fd, to, room, room, 0, nullptr, nullptr); });
     }},
    {"recvmsg", [](int fd) { return into_message([=](mmsghdr& m) { return ::recvmsg(fd, &m.msg_hdr, 0); }); }},
    {"recvmmsg",
     [](int fd) { return into_message([=](mmsghdr& m) { return ::recvmmsg(fd, &m, 1, MSG_WAITFORONE, nullptr); }); }},
};

call const writers[] = {
    {"write", [](int fd) { return told(::write(fd, data, room)); }},
    {"writev",
     [](int fd) {
       iovec const parts[] = {{const_cast<char*>(data), 8}, {nullptr, 0}};
       return told(::writev(fd, parts, 2));
     }},
    {"send", [](int fd) { return told(::send(fd, data, room, MSG_NOSIGNAL)); }},
    {"sendto", [](int fd) { return told(::sendto(fd, data, room, MSG_NOSIGNAL, nullptr, 0)); }},
    {"sendmsg",
     [](int fd) {
       iovec part{const_cast<char*>(data), room};
       msghdr message{};
       message.msg_iov = &part;
       message.msg_iovlen = 1;
       return told(::sendmsg(fd, &message, MSG_NOSIGNAL));
     }},
    {"sendmmsg",
     [](int fd) {
       iovec part{const_cast<char*>(data), room};
       mmsghdr message{};
       message.msg_hdr.msg_iov = &part;
       message.msg_hdr.msg_iovlen = 1;
       long const r = ::sendmmsg(fd, &message, 1, MSG_NOSIGNAL);
       return told(r, std::to_string(message.msg_len));
     }},
};

call const others[] = {
    {"accept", [](int fd) { return told(::accept(fd, nullptr, nullptr)); }},
    {"accept4", [](int fd) { return told(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC)); }},
    {"accept4, flags that are none", [](int fd) { return told(::accept4(fd, nullptr, nullptr, 0x40000000)); }},
    {"connect",
     [](int fd) {
       sockaddr_un const nowhere{AF_UNIX, "/nowhere/at/all"};
       return told(::connect(fd, reinterpret_cast<sockaddr const*>(&nowhere), sizeof nowhere));
     }},
};

template <int Ms>
struct for_ms {
  static constexpr timespec limit{0, Ms * 1'000'000L};
  static constexpr call calls[] = {
      {"poll", [](int fd) { return looks(fd, POLLIN, [](pollfd& one) { return ::poll(&one, 1, Ms); }); }},
      {"__poll_chk",
       [](int fd) {
         return looks(fd, POLLIN | POLLOUT, [](pollfd& one) { return ::__poll_chk(&one, 1, Ms, sizeof one); });
       }},
      {"ppoll",
       [](int fd) {
         return looks(fd, POLLIN | POLLRDHUP, [](pollfd& one) { return ::ppoll(&one, 1, &limit, nullptr); });
       }},
      {"__ppoll_chk",
       [](int fd) {
         return looks(fd, 0, [](pollfd& one) { return ::__ppoll_chk(&one, 1, &limit, nullptr, sizeof one); });
       }},
      {"select",
       [](int fd) {
         return selects(fd, [=](fd_set& in, fd_set& out) {
           timeval left{0, Ms * 1000};
           return ::select(fd + 1, &in, &out, nullptr, &left);
         });
       }},
      {"select, to read",
       [](int fd) {
         return selects(fd, [=](fd_set& in, fd_set&) {
           timeval left{0, Ms * 1000};
           return ::select(fd + 1, &in, nullptr, nullptr, &left);
         });
       }},
      {"pselect",
       [](int fd) {
         return selects(fd,
                        [=](fd_set& in, fd_set&) { return ::pselect(fd + 1, &in, nullptr, nullptr, &limit, nullptr); });
       }},
      {"epoll_wait",
       [](int fd) {
         return epolls(fd, [](int instance, epoll_event& event) { return ::epoll_wait(instance, &event, 1, Ms); });
       }},
      {"epoll_pwait",
       [](int fd) {
         return epolls(
             fd, [](int instance, epoll_event& event) { return ::epoll_pwait(instance, &event, 1, Ms, nullptr); });
       }},
  };
};

// --- what happens to them ---

void make_nonblocking(int fd) { EXPECT_EQ(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK), 0); }

// Writes by system call number, because thrum::posix does not replace that. If the descriptor cannot be written,
// nothing happens.
void put(int fd) { static_cast<void>(::syscall(SYS_write, fd, data, room)); }

// Through a terminal it takes a moment.
bool something_comes(int fd) {
  pollfd one{fd, POLLIN, 0};
  timespec const at_most{1, 0};
  return ::syscall(SYS_ppoll, &one, 1, &at_most, nullptr, 0) == 1;
}

std::string what_came(int fd) {
  static_cast<void>(something_comes(fd));
  make_nonblocking(fd);
  char memory[2 * room];
  long const r = ::syscall(SYS_read, fd, memory, sizeof memory);
  return std::string(memory, r > 0 ? static_cast<std::size_t>(r) : 0);
}

void add_named(answers& all, kind const& on, call const& c, answer said) {
  said.data = std::string(on.name) + ", " + c.name + ": " + said.data;
  all.push_back(std::move(said));
}

template <class Calls, class Prepare, class Say>
void add(answers& all, kind const& on, Calls const& calls, Prepare prepare, Say say) {
  for (call const& each : calls) {
    both_ends ends = on.open();
    prepare(ends);
    add_named(all, on, each, say(each, ends));
  }
}

constexpr auto reads_first = [](call const& c, both_ends& ends) { return c.make(ends.first); };
constexpr auto writes_second = [](call const& c, both_ends& ends) { return c.make(ends.second); };
constexpr auto as_it_is = [](both_ends&) {};

TEST_P(posix_every_call, data_is_there) {
  answers_alike(procs(), [](caller&) {
    answers all;
    for (kind const& on : kinds) {
      auto const prepare = [&](both_ends& ends) {
        put(ends.second);
        EXPECT_TRUE(!on.waits || something_comes(ends.first)) << on.name;
      };
      add(all, on, readers, prepare, reads_first);
      add(all, on, for_ms<0>::calls, prepare, reads_first);
      add(all, on, for_ms<2>::calls, prepare, reads_first);
    }
    return all;
  });
}

TEST_P(posix_every_call, there_is_nothing_and_no_call_waits) {
  answers_alike(procs(), [](caller&) {
    answers all;
    for (kind const& on : kinds) {
      add(
          all, on, readers, [](both_ends& ends) { make_nonblocking(ends.first); }, reads_first);
      add(all, on, for_ms<0>::calls, as_it_is, reads_first);
      add(all, on, others, as_it_is, reads_first);
    }
    return all;
  });
}

TEST_P(posix_every_call, the_other_end_is_gone) {
  answers_alike(procs(), [](caller&) {
    answers all;
    for (kind const& on : kinds) {
      if (on.open == counter || std::string_view(on.name) == "datagrams") continue;  // these do not end
      auto const prepare = [](both_ends& ends) { ends.close_second(); };
      add(all, on, readers, prepare, reads_first);
      add(all, on, for_ms<2>::calls, prepare, reads_first);
      add(
          all, on, writers, [](both_ends& ends) { ends.close_first(); }, writes_second);
    }
    return all;
  });
}

TEST_P(posix_every_call, there_is_no_such_descriptor) {
  answers_alike(procs(), [](caller&) {
    answers all;
    kind const none{"none", [] { return both_ends{}; }, false};
    for (int const fd : {-1, 1'000'000}) {
      auto const asks = [=](call const& c, both_ends&) { return c.make(fd); };
      add(all, none, readers, as_it_is, asks);
      add(all, none, writers, as_it_is, asks);
      add(all, none, others, as_it_is, asks);
    }
    return all;
  });
}

TEST_P(posix_every_call, there_is_room) {
  answers_alike(procs(), [](caller&) {
    answers all;
    for (kind const& on : kinds) {
      add(all, on, writers, as_it_is, [&](call const& c, both_ends& ends) {
        answer said = c.make(ends.second);
        if (said.result > 0 && on.open != null) said.data += " came: " + what_came(ends.first);
        return said;
      });
    }
    return all;
  });
}

TEST_P(posix_every_call, there_is_no_room_and_no_call_waits) {
  answers_alike(procs(), [](caller&) {
    answers all;
    for (kind const& on : kinds) {
      if (!on.waits || !on.keeps || on.open == counter) continue;
      auto const prepare = [](both_ends& ends) {
        fill(ends.second);
        make_nonblocking(ends.second);
      };
      add(all, on, writers, prepare, writes_second);
    }
    return all;
  });
}

// --- those that wait ---

bool is_socket(kind const& on) {
  both_ends const ends = on.open();
  int type = 0;
  socklen_t bytes = sizeof type;
  return ::getsockopt(ends.first, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0;
}

bool is_for_all(call const& c) { return std::strstr(c.name, "read") != nullptr; }

// A partner writes when the caller waits; before that `disturb` is called, with the caller's thread.
template <class Calls, class Disturb>
answers waits_for_data(caller& c, Calls const& calls, Disturb disturb) {
  answers all;
  int n = 0;
  for (kind const& on : kinds) {
    if (!on.waits) continue;
    bool const takes_all = is_socket(on);
    for (call const& each : calls) {
      if (!takes_all && !is_for_all(each)) continue;
      both_ends ends = on.open();
      pthread_t const thread = ::pthread_self();
      ++n;
      answer said{0};
      {
        partner const writes([&] {
          c.until_it_waits(n);
          disturb(thread);
          c.until_it_waits(n);
          put(ends.second);
        });
        c.next();
        said = each.make(ends.first);
      }
      add_named(all, on, each, std::move(said));
    }
  }
  return all;
}

TEST_P(posix_every_call, data_comes_to_calls_that_wait) {
  answers_alike(procs(), [](caller& c) { return waits_for_data(c, readers, [](pthread_t) {}); });
}

TEST_P(posix_every_call, signals_come_to_calls_that_wait_and_then_data) {
  struct sigaction own {};
  struct sigaction before {};
  own.sa_handler = [](int) {};
  own.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGUSR1, &own, &before), 0);
  answers_alike(procs(), [](caller& c) {
    return waits_for_data(c, readers, [](pthread_t thread) { EXPECT_EQ(::pthread_kill(thread, SIGUSR1), 0); });
  });
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST_P(posix_every_call, time_is_over_for_calls_that_wait) {
  answers_alike(procs(), [](caller&) {
    answers all;
    for (kind const& on : kinds) {
      add(all, on, for_ms<2>::calls, as_it_is, reads_first);
      if (!is_socket(on)) continue;
      auto const limited = [](both_ends& ends) {
        for (int const which : {SO_RCVTIMEO, SO_SNDTIMEO}) {
          for (int const fd : {ends.first, ends.second}) set_limit(fd, which, 2000);
        }
      };
      add(all, on, readers, limited, reads_first);
      auto const full = [&](both_ends& ends) {
        limited(ends);
        fill(ends.second);
      };
      if (on.keeps) add(all, on, writers, full, writes_second);
    }
    return all;
  });
}

}  // namespace
}  // namespace thrum::test
