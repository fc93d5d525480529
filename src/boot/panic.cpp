#include "boot/panic.h"

#include "base/atomic.h"
#include "base/check.h"
#include "core/current.h"
#include "debug/symbols.h"
#include "os/note.h"
#include <thrum/go.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>
#include <unwind.h>

namespace thrum::rt {
namespace {

std::function<void(panic_info const&)>& last_word() {
  static std::function<void(panic_info const&)> function;
  return function;
}

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

constexpr std::size_t frames_max = 64;

// Where the goroutine stands and where it was made, to be written.
struct places {
  std::uintptr_t frames[frames_max];
  std::size_t count = 0;
  std::uint64_t created_by = 0;
  std::uintptr_t created_at = 0;  // 0: by nobody
};

_Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* argument) {
  auto& all = *static_cast<places*>(argument);
  int is_exact = 0;
  std::uintptr_t const pc = _Unwind_GetIPInfo(frame, &is_exact);
  if (pc == 0 || all.count == frames_max) return _URC_END_OF_STACK;
  all.frames[all.count++] = is_exact != 0 ? pc : pc - 1;  // the call, not the instruction after it
  return _URC_NO_REASON;
}

void print_place(symbols& known, std::uintptr_t pc) noexcept {
  try {
    std::string const lines = known.lines_of(pc);
    write_to_stderr(lines.data(), lines.size());
  } catch (...) {  // no memory
    print_error("0x%zx", pc);
  }
}

void print_places(symbols& known, void* argument) noexcept {
  auto const& all = *static_cast<places const*>(argument);
  for (std::size_t i = 0; i < all.count; ++i) print_place(known, all.frames[i]);
  if (all.created_at == 0) return;
  print_error("created by goroutine %llu", static_cast<unsigned long long>(all.created_by));
  print_place(known, all.created_at);
}

}  // namespace

void report_panic() noexcept {
  // One report is enough: a second exception of the reporter itself ends it; others wait until it has ended the program.
  static constinit atomic<M*> reporter{nullptr};
  M& m = *current_m();
  M* first = nullptr;
  if (!reporter.compare_exchange(first, &m, acq_rel, acquire)) {
    if (first == &m) die();
    os::note for_good;
    for_good.sleep();
  }
  G const& g = *m.current;
  char const* const what = what_of_current();
  print_error("panic: %s", what);
  print_error("goroutine %llu [running]%s%s", static_cast<unsigned long long>(g.id), g.name != nullptr ? " " : "",
              g.name != nullptr ? g.name : "");
  places all;
  _Unwind_Backtrace(note_frame, &all);
  if (g.task.created_at != nullptr) {
    all.created_by = g.task.created_by;
    all.created_at = reinterpret_cast<std::uintptr_t>(g.task.created_at) - 1;  // it is a return address
  }
  with_symbols(print_places, &all);
  if (auto const& function = last_word()) {
    try {
      function({g.id, what, g.task.created_at});
    } catch (...) {
      print_error("thrum: the on_panic function threw");
    }
  }
  die();
}

}  // namespace thrum::rt

void thrum::on_panic(std::function<void(panic_info const&)> replacement) { rt::last_word() = std::move(replacement); }
