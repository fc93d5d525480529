#include "boot/places.h"

#include "base/check.h"

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
    print_error("pc 0x%zx", pc);
  }
}

template <class Print>
void print_each(places const& all, Print print) noexcept {
  for (std::size_t i = 0; i < all.count; ++i) print(all.frames[i]);
  if (all.count == places::frames_max) print_error("...");
  if (all.created_at == 0) return;
  print_error("created by goroutine %llu", static_cast<unsigned long long>(all.created_by));
  print(all.created_at);
}

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
  print_each(*static_cast<places const*>(its_places), [&](std::uintptr_t pc) { print_place(known, pc); });
  char const* const note = known.note_on_names();
  write_to_stderr(note, std::strlen(note));
}

void print_places_plainly(places const& all) noexcept { print_each(all, print_place_plainly); }

}  // namespace thrum::rt
