#include "boot/panic.h"

#include "base/atomic.h"
#include "base/check.h"
#include "boot/places.h"
#include "boot/report.h"
#include "core/current.h"
#include "core/forked.h"
#include "sched/deadlock.h"
#include "sched/park.h"
#include <thrum/go.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>

namespace thrum::rt {
namespace {

// What on_panic has set; never destroyed. Not a static of a function: its guard would stay locked for good behind a goroutine that the
// end of its run stops while it initialises it.
constinit atomic<std::function<void(panic_info const&)>*> last_word{nullptr};

// What the current exception carries in it, outermost first: std::throw_with_nested.
void print_causes() noexcept {
  constexpr int depth_max = 32;  // one that carries itself has no end
  std::exception_ptr at = std::current_exception();
  for (int depth = 0; at != nullptr && depth < depth_max; ++depth) {
    try {
      std::rethrow_exception(std::exchange(at, nullptr));
    } catch (std::nested_exception const& outer) {
      at = outer.nested_ptr();
    } catch (...) {  // it carries none
    }
    if (at == nullptr) return;
    try {
      std::rethrow_exception(at);
    } catch (...) {
      print_error("\tcaused by: %s", what_of_current());
    }
  }
}

}  // namespace

char const* what_of_current() noexcept {
  static char text[512];
  try {
    throw;
  } catch (std::exception const& e) {
    return e.what();
  } catch (char const* message) {
    return message;
  } catch (...) {
    std::type_info const* const type = abi::__cxa_current_exception_type();
    std::size_t room = 0;
    int status = 0;
    char* const name = type == nullptr ? nullptr : abi::__cxa_demangle(type->name(), nullptr, &room, &status);
    std::snprintf(text, sizeof text, "an object of type %s", name != nullptr ? name : "unknown");
    return text;
  }
}

void report_panic() noexcept {
  // One report is enough: a second exception of the reporter itself ends it; others wait until it has ended the program, as
  // goroutines do: a thread that slept in their place would look like one that may yet wake the reporter (S20). The goroutine is
  // meant, not its thread: the last word may wait, and go on elsewhere.
  static constinit atomic<G const*> reporter{nullptr};
  if (current_m() == nullptr && forked_inside_run()) {
    print_error("panic: %s", what_of_current());
    print_error("in a child of fork, on the goroutine that called fork");
    die();
  }
  M& m = *current_m();
  Sched& s = m.sched;
  G const& g = *m.current;
  G const* first = nullptr;
  if (!reporter.compare_exchange(first, &g, acq_rel, acquire)) {
    if (first == &g) die();
    enter(m);
    sleep_for_good(m);
  }
  note_that_program_dies();
  note_dying();
  char const* const what = what_of_current();
  print_error("panic: %s", what);
  print_panic_hint(m);
  print_causes();
  print_head(g);
  places all;
  all.note_callers();
  all.note_creation(g);
  with_symbols(print_places, &all);
  if (s.options.panic_shows_all && !s.end_is_near.load(relaxed)) {
    print_error("%s", "");
    report_other_goroutines(s, g.id);
  }
  // acquire pairs with on_panic
  if (auto const* const function = last_word.load(acquire); function != nullptr && *function) {
    try {
      (*function)({g.id, what, g.task.created_at});
    } catch (...) {
      print_error("thrum: the on_panic function threw");
    }
  }
  die();
}

}  // namespace thrum::rt

void thrum::on_panic(std::function<void(panic_info const&)> replacement) {
  auto* const next = new std::function<void(panic_info const&)>(std::move(replacement));
  delete rt::last_word.exchange(next, rt::acq_rel);  // release pairs with report_panic
}
