#include "base/check.h"

#include "base/atomic.h"
#include "base/current_tid.h"
#include "base/standard_error.h"

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace thrum::rt {
namespace {

constinit atomic<bool> crash_on_fatal{false};
constinit atomic<void (*)() noexcept> before_death{nullptr};

// The number of the thread if it ends the program. Not a bool, because a child of vfork uses the variable of its
// parent.
thread_local int dying_as __attribute__((tls_model("initial-exec"))) = 0;

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

// relaxed: it is set once, while the run starts
void set_crash_on_fatal(bool crash) noexcept { crash_on_fatal.store(crash, relaxed); }

// Opaque, because they use the address of a thread-local variable.
THRUM_OPAQUE bool is_dying() noexcept { return dying_as == current_tid(); }
THRUM_OPAQUE void note_dying() noexcept { dying_as = current_tid(); }

void call_before_death() noexcept {
  if (auto const function = before_death.load(acquire)) function();  // pairs with set_before_death
}

void set_before_death(void (*function)() noexcept) noexcept { before_death.store(function, release); }

void die() noexcept {
  note_dying();
  call_before_death();
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
