#include "boot/panic.h"

#include "base/atomic.h"
#include "base/check.h"
#include "boot/places.h"
#include "boot/profile_of_run.h"
#include "boot/report.h"
#include "core/current.h"
#include "core/ender.h"
#include "os/thread.h"
#include "sched/park.h"
#include <thrum/go.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>

namespace thrum::rt {
namespace {

// The function that on_panic has set. It is never destroyed. It is not a static variable of a function, because the end
// of a run may stop a goroutine while it initialises such a variable, and then the guard of the variable would stay
// locked for good.
constinit atomic<std::function<void(panic_info const&)>*> last_word{nullptr};

constexpr std::size_t what_room = 512;

// Writes the text to `room` if the exception has none of its own.
char const* what_of_current_into(char (&room)[what_room]) noexcept {
  try {
    throw;
  } catch (std::exception const& e) {
    return e.what();
  } catch (char const* message) {
    return message;
  } catch (...) {
    std::type_info const* const type = abi::__cxa_current_exception_type();
    std::size_t length = 0;
    int status = 0;
    char* const name = type == nullptr ? nullptr : abi::__cxa_demangle(type->name(), nullptr, &length, &status);
    std::snprintf(room, sizeof room, "an object of type %s", name != nullptr ? name : "unknown");
    return room;
  }
}

// Prints the exceptions that are nested in the current one by std::throw_with_nested, outermost first.
void print_causes() noexcept {
  constexpr int depth_max = 32;  // an exception that contains itself has no end
  std::exception_ptr at = std::current_exception();
  for (int depth = 0; at != nullptr && depth < depth_max; ++depth) {
    try {
      std::rethrow_exception(std::exchange(at, nullptr));
    } catch (std::nested_exception const& outer) {
      at = outer.nested_ptr();
    } catch (...) {  // no exception is nested in it
    }
    if (at == nullptr) return;
    try {
      std::rethrow_exception(at);
    } catch (...) {
      char text[what_room];
      print_error("\tcaused by: %s", what_of_current_into(text));
    }
  }
}

// Starts a thread that ends the program if the ender makes no progress. The goroutine that panics second parks, and the
// ender may wait for a lock that this goroutine holds. Deadlock detection does not count the thread, because the thread
// wakes no goroutine. If no thread can be made, the wait has no limit.
void limit_wait_for_ender() noexcept {
  static constinit atomic<int> limited_in{0};  // the process that has the thread; a child of fork does not have it
  auto const body = [](void*) -> void* {
    wait_for_end_of_program();
    end_in_place_of_ender();
  };
  int const here = os::process_id();
  if (limited_in.exchange(here, relaxed) == here) return;  // relaxed: the number publishes no other data
  Sched::threads_asleep_for_good.fetch_add(1, relaxed);    // before the thread is there
  os::thread limiter{};
  if (os::create_thread(limiter, body, nullptr, os::takes_signals::only_its_own) == 0) {
    os::detach_thread(limiter);
  } else {
    Sched::threads_asleep_for_good.fetch_sub(1, relaxed);
    limited_in.store(0, relaxed);
  }
}

// If the names of one goroutine's functions cannot be had, the others' cannot be had either.
void show_others(Sched& s, std::uint64_t except_id, bool has_names) noexcept {
  if (!has_names) return say_that_others_are_missing("the names of their functions cannot be had either");
  if (s.world.is_forbidden()) return say_that_others_are_missing("the run is ending");
  print_error("%s", "");
  report_other_goroutines(s, except_id);
}

}  // namespace

char const* what_of_current() noexcept {
  static char text[what_room];
  return what_of_current_into(text);
}

void report_misuse(char const* what) noexcept {
  ender_turn const turn = ask_to_end({});
  if (turn == ender_turn::after_another) wait_for_end_of_program();
  G const& g = *current_m()->current;
  print_error("thrum: fatal error: goroutine %llu: %s", static_cast<unsigned long long>(g.id), what);
  if (turn == ender_turn::first) {
    print_head(g);
    places all;
    all.note_callers();
    all.note_creation(g);
    static_cast<void>(print_places_in_time(all));
  }
  die();
}

void report_panic() noexcept {
  switch (ask_to_end({.function = "on_panic function"})) {
    case ender_turn::first: break;
    case ender_turn::again: die();
    case ender_turn::after_another: {
      // The thread does not sleep in the goroutine's place, because deadlock detection would take such a thread for one
      // that may yet wake the ender (S20).
      limit_wait_for_ender();
      M& m = *current_m();
      enter_runtime(m);
      sleep_for_good(m);
    }
    case ender_turn::in_child:
      print_error("panic: %s", what_of_current());
      print_error("in a child process, on the goroutine that called fork");
      die();
  }
  M& m = *current_m();
  Sched& s = m.sched;
  G const& g = *m.current;
  char const* const what = what_of_current();
  print_error("panic: %s", what);
  print_panic_hint(m);
  print_causes();
  print_head(g);
  places all;
  all.note_callers();
  all.note_creation(g);
  bool const has_names = print_places_in_time(all);
  if (s.options.panic_shows_all) show_others(s, g.id, has_names);
  // The acquire pairs with the release in on_panic.
  if (auto const* const function = last_word.load(acquire); function != nullptr && *function) {
    try {
      (*function)({g.id, what, g.task.created_at});
    } catch (...) {
      print_error("thrum: the on_panic function threw an exception, which is ignored");
    }
  }
  // A goroutine that its run has left behind has no profile, and a later run may end at this moment.
  if (s.epoch == Sched::live_epoch.load(relaxed)) {
    if (profile_of_run* const its = profile_of_run::live_one()) its->write_before_death();
  }
  die();
}

}  // namespace thrum::rt

void thrum::on_panic(std::function<void(panic_info const&)> replacement) {
  auto* const next = new std::function<void(panic_info const&)>(std::move(replacement));
  delete rt::last_word.exchange(next, rt::acq_rel);  // the release pairs with the acquire in report_panic
}
