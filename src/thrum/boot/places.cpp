#include "boot/places.h"

#include "base/check.h"
#include "base/report_limits.h"
#include "base/standard_error.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <unwind.h>

namespace thrum::rt {
namespace {

_Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* argument) {
  auto& all = *static_cast<places*>(argument);
  int is_exact = 0;
  std::uintptr_t const pc = _Unwind_GetIPInfo(frame, &is_exact);
  if (pc == 0 || all.count == places::frames_max) return _URC_END_OF_STACK;
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

void print_address(std::uintptr_t pc) noexcept { print_error("pc 0x%zx", pc); }

void print_place_plainly(std::uintptr_t pc) noexcept {
  Dl_info symbol{};
  bool const is_known = ::dladdr(reinterpret_cast<void const*>(pc), &symbol) != 0;
  if (is_known && symbol.dli_sname != nullptr) {
    print_error("%.600s+0x%zx (pc 0x%zx)", symbol.dli_sname, pc - reinterpret_cast<std::uintptr_t>(symbol.dli_saddr),
                pc);
  } else if (is_known) {
    print_error("%.600s+0x%zx (pc 0x%zx)", symbol.dli_fname, pc - reinterpret_cast<std::uintptr_t>(symbol.dli_fbase),
                pc);
  } else {
    print_address(pc);
  }
}

// Prints the places from the frame `from` on. Stops when is_left() is true.
template <class Print, class IsLeft>
void print_each(places& all, std::size_t from, Print print, IsLeft is_left) noexcept {
  for (std::size_t i = from; i < all.count && !is_left(); ++i) {
    print(all.frames[i]);
    all.printed.store(i + 1, relaxed);  // relaxed: the worst is that a place is printed twice
  }
  if (is_left()) return;
  if (all.count == places::frames_max) print_error("...");
  if (all.created_at == 0) return;
  print_error("created by goroutine %llu", static_cast<unsigned long long>(all.created_by));
  print(all.created_at);
  all.printed.store(all.count + 1, relaxed);
}

bool never() noexcept { return false; }

}  // namespace

void places::note_creation(G const& g) noexcept {
  if (g.task.created_at == nullptr) return;
  created_by = g.task.created_by;
  created_at = reinterpret_cast<std::uintptr_t>(g.task.created_at) - 1;  // it is a return address
}

void places::note_callers() noexcept {
  _Unwind_Backtrace(note_frame, this);
  if (count != 0) std::copy(frames + 1, frames + count--, frames);  // without this function's own frame
}

void print_head(G const& g) noexcept {
  print_error("goroutine %llu [running]%s%s", static_cast<unsigned long long>(g.id), g.name != nullptr ? " " : "",
              g.name != nullptr ? g.name : "");
}

void print_places(symbols& known, void* its_places) noexcept {
  auto& all = *static_cast<places*>(its_places);
  auto const are_left = [&all] { return all.are_left.load(relaxed); };
  print_each(
      all, 0, [&known](std::uintptr_t pc) { print_place(known, pc); }, are_left);
  if (are_left()) return;
  char const* const note = known.note_on_names();
  write_to_stderr(note, std::strlen(note));
}

bool print_places_in_time(places& all) noexcept {
  // Longer than the 10 s for which a write waits for standard error (base/standard_error.h), and shorter than the time
  // limit of a report on std::terminate (boot/crash.cpp).
  std::int64_t const without_step_ns = (with_asan || with_tsan ? 3 : 1) * 12 * second_of_reports_ns();
  switch (with_symbols_in_time(without_step_ns, print_places, &all)) {
    case report_end::is_reached: return true;
    case report_end::has_no_reader:  // the caller may hold locks of the loader and of malloc
      print_error("thrum: the names of functions cannot be had: no thread can be made to read them");
      print_addresses(all);
      return true;
    case report_end::is_left: break;
  }
  all.are_left.store(true, relaxed);  // relaxed: the worst is that a place is printed twice
  print_error("thrum: the names of functions cannot be had: their reader has waited too long, probably for dlopen");
  print_addresses(all);
  return false;
}

void print_addresses_left(places& all) noexcept {
  std::size_t const done = all.printed.load(relaxed);
  all.are_left.store(true, relaxed);
  if (done > all.count || (done == all.count && all.created_at == 0) || stderr_would_wait()) return;
  print_how_to_look_addresses_up();
  print_each(all, done, print_address, stderr_would_wait);
}

void print_addresses(places& all) noexcept {
  print_how_to_look_addresses_up();
  print_each(all, 0, print_address, never);
}

void print_places_plainly(places& all) noexcept { print_each(all, 0, print_place_plainly, never); }

}  // namespace thrum::rt
