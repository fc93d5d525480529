#include "boot/panic.h"

#include "base/atomic.h"
#include "base/check.h"
#include "core/current.h"
#include "os/note.h"
#include <thrum/go.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>
#include <dlfcn.h>
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

void print_place(char const* before, void const* pc) noexcept {
  Dl_info info{};
  auto const address = reinterpret_cast<std::uintptr_t>(pc);
  if (::dladdr(pc, &info) == 0 || info.dli_fname == nullptr) {
    print_error("%s0x%zx", before, address);
    return;
  }
  if (info.dli_sname == nullptr) {
    print_error("%s%s+0x%zx", before, info.dli_fname, address - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    return;
  }
  int status = 0;
  char* const name = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  print_error("%s%s+0x%zx", before, name != nullptr ? name : info.dli_sname,
              address - reinterpret_cast<std::uintptr_t>(info.dli_saddr));
  std::free(name);
}

_Unwind_Reason_Code print_frame(_Unwind_Context* frame, void* depth) {
  constexpr int frames_max = 64;
  int& at = *static_cast<int*>(depth);
  auto const pc = _Unwind_GetIP(frame);
  if (pc == 0 || ++at > frames_max) return _URC_END_OF_STACK;
  print_place("    at ", reinterpret_cast<void const*>(pc - 1));  // the call, not the instruction after it
  return _URC_NO_REASON;
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
  int depth = 0;
  _Unwind_Backtrace(print_frame, &depth);
  if (g.task.created_at != nullptr) {
    print_error("created by goroutine %llu", static_cast<unsigned long long>(g.task.created_by));
    print_place("    at ", g.task.created_at);
  }
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
