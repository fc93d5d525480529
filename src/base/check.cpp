#include "base/check.h"

#include "base/atomic.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt {
namespace {

constinit atomic<bool> crash_on_fatal{false};

// The number of the thread if it ends the program. Not a bool, because a child of vfork uses the variable of its parent.
thread_local int dying_as __attribute__((tls_model("initial-exec"))) = 0;

int current_tid() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

constexpr std::int64_t ns_per_s = 1'000'000'000;
constinit atomic<std::int64_t> stderr_patience_ns{10 * ns_per_s};
constinit atomic<bool> stderr_was_given_up{false};
constexpr std::size_t taken_at_once = 4096;  // a pipe that is ready for writing has room for a page

std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * ns_per_s + now.tv_nsec;
}

// The system call and not `poll`, behind which thrum::posix may stand. Returns 0 if the time was over, and a negative
// number if the call failed.
long poll_stderr(std::int64_t patience_ns) noexcept {
  pollfd place{STDERR_FILENO, POLLOUT, 0};
  timespec const limit{patience_ns / ns_per_s, patience_ns % ns_per_s};
  return ::syscall(SYS_ppoll, &place, 1, &limit, nullptr, 0);
}

// Returns false if standard error has taken nothing until then. If the question fails, the write tells.
bool wait_for_stderr(std::int64_t until_ns) noexcept {
  for (;;) {
    // relaxed: nothing is ordered by it. A thread that sees the old value waits as if it were the first
    std::int64_t const left_ns = stderr_was_given_up.load(relaxed) ? 0 : until_ns - now_ns();
    long const found = poll_stderr(left_ns > 0 ? left_ns : 0);
    if (found < 0 && errno == EINTR) continue;
    if (stderr_was_given_up.load(relaxed) != (found == 0)) stderr_was_given_up.store(found == 0, relaxed);
    return found != 0;
  }
}

void write_line(char const* prefix, char const* format, std::va_list arguments) noexcept {
  char line[1024];
  int used = std::snprintf(line, sizeof line, "%s", prefix);
  int const more = std::vsnprintf(line + used, sizeof line - static_cast<std::size_t>(used) - 1, format, arguments);
  int const room = static_cast<int>(sizeof line) - used - 2;
  used += more < room ? more : room;
  line[used++] = '\n';
  write_to_stderr(line, static_cast<std::size_t>(used));
}

}  // namespace

// Makes the system call directly. The functions of os/ can be made to fail by fault injection, and the program's
// `write` may be thrum::posix's, which can park the goroutine.
void write_to_stderr(char const* text, std::size_t length) noexcept {
  std::int64_t const patience_ns = stderr_patience_ns.load(relaxed);  // relaxed: set before the test begins
  for (std::int64_t until_ns = now_ns() + patience_ns; length > 0;) {
    if (!wait_for_stderr(until_ns)) return;
    std::size_t const piece = length < taken_at_once ? length : taken_at_once;
    auto const written = ::syscall(SYS_write, STDERR_FILENO, text, piece);
    if (written < 0 && (errno == EINTR || errno == EAGAIN) && now_ns() < until_ns) continue;
    if (written <= 0) return;
    text += written;
    length -= static_cast<std::size_t>(written);
    until_ns = now_ns() + patience_ns;
  }
}

bool stderr_would_wait() noexcept { return poll_stderr(0) == 0; }

void set_stderr_patience(std::int64_t ns) noexcept { stderr_patience_ns.store(ns, relaxed); }

// relaxed: it is set once, while the run starts
void set_crash_on_fatal(bool crash) noexcept { crash_on_fatal.store(crash, relaxed); }

// Opaque, because they use the address of a thread-local variable.
THRUM_OPAQUE bool is_dying() noexcept { return dying_as == current_tid(); }
THRUM_OPAQUE void note_dying() noexcept { dying_as = current_tid(); }

void die() noexcept {
  note_dying();
  if (crash_on_fatal.load(relaxed)) std::abort();
  ::_exit(2);
}

void print_error(char const* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  write_line("", format, arguments);
  va_end(arguments);
}

void fatal(char const* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  write_line("thrum: ", format, arguments);
  va_end(arguments);
  die();
}

void check_failed(char const* condition, char const* file, int line) noexcept {
  fatal("internal error: %s does not hold at %s:%d", condition, file, line);
}

}  // namespace thrum::rt
