#include "base/check.h"

#include "base/atomic.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt {
namespace {

constinit atomic<bool> crash_on_fatal{false};

// The number of the thread if it ends the program. Not a bool, because a child of vfork uses the variable of its parent.
thread_local int dying_as __attribute__((tls_model("initial-exec"))) = 0;

int current_tid() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

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
  while (length > 0) {
    auto const written = ::syscall(SYS_write, STDERR_FILENO, text, length);
    if (written <= 0) return;
    text += written;
    length -= static_cast<std::size_t>(written);
  }
}

// Not by a name that thrum::posix may stand behind.
bool stderr_would_wait() noexcept {
  pollfd place{STDERR_FILENO, POLLOUT, 0};
  timespec const at_once{};
  return ::syscall(SYS_ppoll, &place, 1, &at_once, nullptr, 0) == 0;
}

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
