#include "base/check.h"

#include "base/atomic.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt {
namespace {

constinit atomic<bool> crash_on_fatal{false};
constinit atomic<bool> dying{false};

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

// The last words go straight to the kernel, not through os/, nor by a name that others may stand behind: nothing that could itself
// fail, be made to fail, or wait (thrum::posix).
void write_to_stderr(char const* text, std::size_t length) noexcept {
  while (length > 0) {
    auto const written = ::syscall(SYS_write, STDERR_FILENO, text, length);
    if (written <= 0) return;
    text += written;
    length -= static_cast<std::size_t>(written);
  }
}

void set_crash_on_fatal(bool crash) noexcept { crash_on_fatal.store(crash, relaxed); }  // set once, while starting

bool is_dying() noexcept { return dying.load(relaxed); }  // relaxed: a hint to other threads, and certain on its own
void note_dying() noexcept { dying.store(true, relaxed); }

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
