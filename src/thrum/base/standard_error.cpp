#include "base/standard_error.h"

#include "base/atomic.h"
#include "base/report_limits.h"
#include "base/signal_bits.h"

#include <algorithm>
#include <ctime>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
constinit atomic<std::int64_t> stderr_patience_ns{0};  // 0: ten seconds of reports
constinit atomic<bool> stderr_was_given_up{false};
constinit atomic<bool> text_was_lost{false};  // and no text after it says so

std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * ns_per_s + now.tv_nsec;
}

// The system call and not `poll`, behind which thrum::posix may stand. Returns 0 if the time was over, and a negative
// number if the call failed. A negative descriptor only lets the time pass.
long poll_for_writing(int fd, std::int64_t patience_ns) noexcept {
  pollfd place{fd, POLLOUT, 0};
  timespec const limit{patience_ns / ns_per_s, patience_ns % ns_per_s};
  return ::syscall(SYS_ppoll, &place, 1, &limit, nullptr, 0);
}

// The request succeeds for masters only.
bool is_pty_master() noexcept {
  unsigned number = 0;
  return ::syscall(SYS_ioctl, STDERR_FILENO, TIOCGPTN, &number) == 0;
}

// A write to a pipe without a reader, or beyond the largest size that files may have, fails and raises no signal. The
// kernel sends such a signal to the thread that writes. So the thread holds it back, and takes it away before it
// restores its mask. A signal that was pending before stays pending. The action that the program has set does not
// matter, and other threads are left alone. Returns what the system call returns.
long write_without_signal(int fd, char const* text, std::size_t length) noexcept {
  constexpr signal_bits of_write = bit_of_signal(SIGPIPE) | bit_of_signal(SIGXFSZ);
  signal_bits pending_before = 0;
  signal_bits mask_before = 0;
  ::syscall(SYS_rt_sigpending, &pending_before, sizeof pending_before);
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &of_write, &mask_before, sizeof of_write);
  long const written = ::syscall(SYS_write, fd, text, length);
  int const errno_of_write = errno;
  signal_bits const raised = of_write & ~pending_before;
  if (written < 0 && (errno_of_write == EPIPE || errno_of_write == EFBIG) && raised != 0) {
    timespec const at_once{};  // so the call is not interrupted; the signal is not there if the program ignores it
    ::syscall(SYS_rt_sigtimedwait, &raised, nullptr, &at_once, sizeof raised);
  }
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_before, nullptr, sizeof mask_before);
  errno = errno_of_write;
  return written;
}

// Writes to standard error without blocking, although standard error is usually open for blocking writes, and without a
// signal if its reader has gone. The flag O_NONBLOCK belongs to the open file, which other processes share, so it
// cannot be set there.
//
// - A terminal says that it is ready as soon as it has room for one byte, and a longer write sleeps. Another thread may
//   fill a pipe after the question whether it is ready. So terminals and pipes are opened once more, without blocking.
// - A socket has flags for it in each call.
// - A file takes every write. It is not opened once more, because its position belongs to the open file.
//
// A terminal that cannot be opened (no /proc, no descriptor left, another owner) is written to byte by byte, because it
// has room for a byte if it says that it is ready. So is the master of a pseudo-terminal, because opening it once more
// makes another pseudo-terminal, which no process reads. A write to a pipe that cannot be opened may sleep. The
// descriptor is opened for each text and not kept, because the program may redirect standard error or close descriptors
// that it does not know.
class stderr_writer {
 public:
  stderr_writer() noexcept {
    struct stat is {};
    if (::fstat(STDERR_FILENO, &is) != 0) return;
    is_socket_ = S_ISSOCK(is.st_mode);
    is_terminal_ = S_ISCHR(is.st_mode) && stderr_is_terminal();
    if (!S_ISFIFO(is.st_mode) && (!is_terminal_ || is_pty_master())) return;
    own_ = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, "/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0));
  }
  ~stderr_writer() {
    if (own_ >= 0) ::syscall(SYS_close, own_);
  }
  stderr_writer(stderr_writer const&) = delete;
  stderr_writer& operator=(stderr_writer const&) = delete;

  // How many bytes are written at once. A pipe that is ready for writing has room for a page.
  [[nodiscard]] std::size_t piece_of(std::size_t length) const noexcept {
    return std::min(length, is_terminal_ && own_ < 0 ? std::size_t{1} : page);
  }
  // If standard error takes as much of a text of this length without a wait, it does not hold up the next texts.
  [[nodiscard]] static std::size_t enough_of(std::size_t length) noexcept { return std::min(length, page); }

  // Returns what the system call returns.
  [[nodiscard]] long write(char const* text, std::size_t length) const noexcept {
    std::size_t const piece = piece_of(length);
    if (is_socket_) {
      return ::syscall(SYS_sendto, STDERR_FILENO, text, piece, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
    }
    int const fd = own_ >= 0 ? own_ : STDERR_FILENO;
    return is_terminal_ ? ::syscall(SYS_write, fd, text, piece) : write_without_signal(fd, text, piece);
  }

 private:
  static constexpr std::size_t page = 4096;

  int own_ = -1;
  bool is_socket_ = false;
  bool is_terminal_ = false;
};

// Waits until standard error says that it is ready, or returns false when the time is over. If the question fails, the
// write tells.
bool wait_for_stderr(std::int64_t until_ns) noexcept {
  for (;;) {
    // relaxed: nothing is ordered by it. A thread that sees the old value waits as if it were the first
    std::int64_t const left_ns = stderr_was_given_up.load(relaxed) ? 0 : until_ns - now_ns();
    long const found = poll_for_writing(STDERR_FILENO, left_ns > 0 ? left_ns : 0);
    if (found >= 0 || errno != EINTR) return found != 0;
  }
}

// Standard error says that it is ready, and has taken nothing. A terminal with room for one byte does so before a new
// line, which it writes as two. Returns false when the time is over.
bool nap_before_next_write(std::int64_t until_ns) noexcept {
  constexpr std::int64_t nap_ns = 1'000'000;
  if (stderr_was_given_up.load(relaxed) || now_ns() >= until_ns) return false;
  static_cast<void>(poll_for_writing(-1, nap_ns));
  return true;
}

void note_given_up(bool is_given_up) noexcept {
  if (stderr_was_given_up.load(relaxed) != is_given_up) stderr_was_given_up.store(is_given_up, relaxed);
}

enum class writing : bool { done, given_up };

// A text that the kernel refuses is done with.
writing write_in_time(stderr_writer const& out, char const* text, std::size_t length) noexcept {
  constexpr std::size_t length_per_limit = 512 * 1024;  // 9 KiB/s, less than a serial line of 115200 baud takes
  std::int64_t const set_ns = stderr_patience_ns.load(relaxed);  // relaxed: set before the test begins
  std::int64_t const patience_ns = set_ns != 0 ? set_ns : 10 * second_of_reports_ns();
  std::int64_t until_ns = now_ns() + patience_ns;
  std::int64_t const last_ns =
      until_ns + 5 * patience_ns + static_cast<std::int64_t>(length / length_per_limit) * 6 * patience_ns;
  // If a few bytes were enough, a terminal that takes a few at a time would hold up each line of a report anew.
  std::size_t still_to_take = stderr_writer::enough_of(length);
  while (length > 0) {
    long const written = wait_for_stderr(until_ns) ? out.write(text, length) : 0;
    bool const takes_nothing = written == 0 || (written < 0 && (errno == EAGAIN || errno == EINTR));
    if (written > 0) {
      auto const taken = static_cast<std::size_t>(written);
      still_to_take -= std::min(still_to_take, taken);
      if (still_to_take == 0) note_given_up(false);
      text += taken;
      length -= taken;
      until_ns = std::min(now_ns() + patience_ns, last_ns);
      note_step_of_report();
    } else if (!takes_nothing) {
      return writing::done;
    } else if (!nap_before_next_write(until_ns)) {
      note_given_up(true);
      note_step_of_report();
      return writing::given_up;
    }
  }
  return writing::done;
}

}  // namespace

// Makes the system call directly. The functions of os/ can be made to fail by fault injection, and the program's
// `write` may be thrum::posix's, which can park the goroutine.
void write_to_stderr(char const* text, std::size_t length) noexcept {
  static constexpr char notice[] =
      "\nthrum: a part of the text before this line was lost, because standard error took too long\n";
  stderr_writer const out;
  // relaxed: the flag publishes no other data
  bool is_lost = text_was_lost.load(relaxed) && text_was_lost.exchange(false, relaxed);
  if (is_lost) is_lost = write_in_time(out, notice, sizeof notice - 1) == writing::given_up;
  if (is_lost || write_in_time(out, text, length) == writing::given_up) text_was_lost.store(true, relaxed);
}

std::size_t write_to_stderr_at_once(char const* text, std::size_t length) noexcept {
  stderr_writer const out;
  std::size_t done = 0;
  while (done < length && poll_for_writing(STDERR_FILENO, 0) != 0) {
    long const written = out.write(text + done, length - done);
    if (written < 0 && errno != EAGAIN && errno != EINTR) return length;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

bool stderr_would_wait() noexcept { return poll_for_writing(STDERR_FILENO, 0) == 0; }
bool stderr_has_no_reader() noexcept {
  pollfd place{STDERR_FILENO, POLLOUT, 0};
  timespec const at_once{};
  long const found = ::syscall(SYS_ppoll, &place, 1, &at_once, nullptr, 0);
  return found > 0 && (place.revents & (POLLERR | POLLHUP)) != 0;
}
bool stderr_is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }
bool stderr_is_given_up() noexcept { return stderr_was_given_up.load(relaxed); }

void set_stderr_patience(std::int64_t ns) noexcept { stderr_patience_ns.store(ns, relaxed); }

}  // namespace thrum::rt
