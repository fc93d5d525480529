#include "debug/symbols.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/report_limits.h"
#include "core/sched.h"
#include "debug/hexadecimal.h"
#include "os/clock.h"
#include "os/loaded_code.h"
#include "os/memory.h"
#include "os/note.h"
#include "os/short_wait.h"
#include "os/thread.h"

#include <limits>
#include <new>
#include <utility>

#include <dlfcn.h>
#include <link.h>

namespace thrum::rt {
namespace {

code_place place_by_loader(std::uintptr_t pc) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void const*>(pc), &info) == 0 || info.dli_fname == nullptr) {
    return {.function = hexadecimal(pc), .file = {}};
  }
  if (info.dli_sname == nullptr) {
    auto const begin = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    std::string where(info.dli_fname);  // no operator+ with a literal on its left: gcc 12 warns of it at -O3
    where += '+';
    where += hexadecimal(pc - begin);
    return {.function = std::move(where), .file = {}};
  }
  auto const begin = reinterpret_cast<std::uintptr_t>(info.dli_saddr);
  return {.function = demangled(info.dli_sname), .file = info.dli_fname, .offset = pc - begin};
}

unsigned long long libraries_unloaded() noexcept {
  unsigned long long count = 0;
  auto const note = [](dl_phdr_info* info, std::size_t, void* result) {
    *static_cast<unsigned long long*>(result) = info->dlpi_subs;
    return 1;  // each library has the same number
  };
  ::dl_iterate_phdr(note, &count);
  return count;
}

}  // namespace

symbols::symbols(source best)
    : is_wanted_(best == source::debug_information ? debug_information::wanted::yes : debug_information::wanted::no) {
  static_cast<void>(files());
}

debug_information const& symbols::files() const {
  if (!files_) {
    files_.emplace(is_wanted_);
    why_not_ = files_->why_not();
  }
  return *files_;
}

void symbols::close_files(std::size_t places_max) noexcept {
  files_.reset();
  if (known_.size() > places_max) known_.clear();
}

void symbols::forget_if_unloaded() noexcept {
  unsigned long long const now = libraries_unloaded();
  if (std::exchange(unloads_, now) != now) known_.clear();
}

std::vector<code_place> const& symbols::places_of(std::uintptr_t pc) {
  auto const found = known_.find(pc);
  if (found != known_.end()) return found->second;
  std::vector<code_place> places{place_by_loader(pc)};
  files().refine(pc, places);
  note_step_of_report();  // so a reader that works steadily is not taken for one that is stuck
  return known_.emplace(pc, std::move(places)).first->second;
}

std::string symbols::lines_of(std::uintptr_t pc) {
  std::string text;
  for (code_place const& place : places_of(pc)) text += rt::lines_of(place);
  return text;
}

namespace {

// A call of with_symbols_in_time. The caller and the thread share it. If the caller has left it, the thread gives it
// back. It is not on the heap, because the report on a deadlock is made inside the runtime, where malloc is not called
// (T01).
struct limited_call {
  enum class stage : std::uint8_t { reads, has_ended, is_left };

  symbol_report function = nullptr;
  void* argument = nullptr;
  int tid = 0;
  os::note ended{};
  atomic<std::uint32_t> steps{0};  // of this report
  // acq_rel: the side that comes second gives back what the other side has used
  atomic<stage> at{stage::reads};

  static void* body(void* its_call);

  [[nodiscard]] bool ends_in_time(std::int64_t without_step_ns) noexcept {
    constexpr std::int64_t look_every_ns = 100'000'000;
    std::uint32_t seen = 0;
    std::int64_t last_step_ns = os::monotonic_ns();
    while (!ended.sleep_for(look_every_ns)) {
      std::int64_t const now_ns = os::monotonic_ns();
      std::uint32_t const now = steps.load(relaxed);  // relaxed: the number orders nothing
      if (std::exchange(seen, now) != now) last_step_ns = now_ns;
      if (now_ns - last_step_ns >= without_step_ns) return false;
    }
    return true;
  }
};

// The record of one call at a time, so that a report needs no memory for it. A second call at the same time maps its
// record, and so do all calls in a child of fork that was made during a call.
struct {
  atomic<bool> is_taken{false};
  limited_call call;
} constinit first_call;

// Returns nullptr if there is no memory.
limited_call* take_call(symbol_report report, void* argument) noexcept {
  limited_call* call = nullptr;
  if (!first_call.is_taken.exchange(true, acquire)) {  // pairs with give_back
    call = &first_call.call;
  } else if (char* const memory = os::map(sizeof(limited_call)).address; memory != nullptr) {
    call = ::new (static_cast<void*>(memory)) limited_call;
  } else {
    return nullptr;
  }
  call->function = report;
  call->argument = argument;
  call->tid = 0;
  call->ended.clear();
  call->steps.store(0, relaxed);
  call->at.store(limited_call::stage::reads, relaxed);  // the thread does not exist yet
  return call;
}

void give_back(limited_call& call) noexcept {
  if (&call == &first_call.call) {
    first_call.is_taken.store(false, release);  // pairs with take_call
  } else {
    os::unmap(reinterpret_cast<char*>(&call), sizeof call);
  }
}

void* limited_call::body(void* its_call) {
  auto& its = *static_cast<limited_call*>(its_call);
  its.tid = os::current_tid();
  {
    steps_of_thread const counted(its.steps);
    symbols best;
    its.function(best, its.argument);
  }
  if (its.at.exchange(stage::has_ended, acq_rel) == stage::is_left) {
    give_back(its);
    Sched::threads_asleep_for_good.fetch_sub(1, relaxed);  // relaxed: a hint for deadlock detection
  } else {
    its.ended.wake();
  }
  return nullptr;
}

}  // namespace

report_end with_symbols_in_time(std::int64_t without_step_ns, symbol_report report, void* argument) noexcept {
  limited_call* const call = take_call(report, argument);
  if (call == nullptr) return report_end::has_no_reader;
  os::thread reader;
  if (os::create_thread(reader, limited_call::body, call) != 0) {
    give_back(*call);
    return report_end::has_no_reader;
  }
  if (!call->ends_in_time(without_step_ns)) {
    Sched::threads_asleep_for_good.fetch_add(1, relaxed);  // before the thread can subtract it
    if (call->at.exchange(limited_call::stage::is_left, acq_rel) == limited_call::stage::reads) {
      os::detach_thread(reader);
      return report_end::is_left;
    }
    Sched::threads_asleep_for_good.fetch_sub(1, relaxed);
    call->ended.sleep();
  }
  // Not by pthread_join: thrum::posix_locks may stand behind it and park the goroutine that reports.
  os::short_wait wait;
  while (!os::join_thread_if_ended(reader, call->tid)) wait.pause();
  give_back(*call);
  return report_end::is_reached;
}

void with_symbols(symbol_report report, void* argument) noexcept {
  constexpr auto no_limit_ns = std::numeric_limits<std::int64_t>::max();
  if (with_symbols_in_time(no_limit_ns, report, argument) == report_end::is_reached) return;
  symbols of_loader(symbols::source::loader);
  report(of_loader, argument);
}

void print_how_to_look_addresses_up() noexcept {
  print_error("thrum: to look an address up in the executable (addr2line), subtract 0x%zx",
              os::load_bias_of_executable());
}

std::string lines_of(code_place const& place) {
  std::string text = place.function + '\n';
  if (place.file.empty()) return text;
  text += '\t' + place.file;
  if (place.line > 0) text += ':' + std::to_string(place.line);
  return text + " +" + hexadecimal(place.offset) + '\n';
}

}  // namespace thrum::rt
