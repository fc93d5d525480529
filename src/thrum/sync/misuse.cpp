#include "sync/misuse.h"

#include "base/atomic.h"
#include "base/check.h"
#include "core/current.h"

#include <cstdarg>
#include <cstdio>

namespace thrum::rt {
namespace {

constinit atomic<void (*)(char const* what) noexcept> report_with_stack{nullptr};

}  // namespace

// release pairs with the load in misuse: the function can be called
void set_misuse_report(void (*report)(char const* what) noexcept) noexcept { report_with_stack.store(report, release); }

void misuse(char const* format, ...) noexcept {
  char what[512];
  std::va_list arguments;
  va_start(arguments, format);
  static_cast<void>(std::vsnprintf(what, sizeof what, format, arguments));
  va_end(arguments);
  M const* const m = current_m();
  bool const is_goroutine = m != nullptr && m->current != nullptr && !m->is_foreign;
  // relaxed: the mark of this thread itself
  if (is_goroutine && !m->in_runtime.load(relaxed)) {
    if (auto const report = report_with_stack.load(acquire)) report(what);  // pairs with set_misuse_report
  }
  fatal("fatal error: %s", what);
}

}  // namespace thrum::rt
