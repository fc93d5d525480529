#include "debug/sleeper.h"

#include "base/platform.h"
#include "os/loaded_code.h"
#include "os/memory.h"
#include "os/thread_state.h"

#include <algorithm>
#include <cstring>

namespace thrum::rt {
namespace {

// Copies word by word, because the sanitizers have marks on a stack that are not meant for this thread, and know of no
// order between this thread and the sleeping one.
THRUM_NO_ASAN THRUM_NO_TSAN void copy_words(char* to, std::uintptr_t from, std::size_t bytes) noexcept {
  auto const* const source = reinterpret_cast<std::uintptr_t const volatile*>(from);
  auto* const target = reinterpret_cast<std::uintptr_t volatile*>(to);
  for (std::size_t i = 0; i < bytes / sizeof(std::uintptr_t); ++i) target[i] = source[i];
}

bool sleeps_on(os::thread_state const& state, stack_range on) noexcept {
  return state.activity == os::thread_activity::sleeps_in_call && state.stack_pointer % sizeof(std::uintptr_t) == 0 &&
         state.stack_pointer >= reinterpret_cast<std::uintptr_t>(on.low) &&
         state.stack_pointer < reinterpret_cast<std::uintptr_t>(on.high);
}

}  // namespace

bool sleeper::read(std::uintptr_t address, std::uintptr_t& word) const noexcept {
  std::uintptr_t const offset = address - stack_pointer;  // wraps around below it
  if (copy == nullptr || offset >= bytes || bytes - offset < sizeof word) return false;
  std::memcpy(&word, copy + offset, sizeof word);
  return true;
}

sleeper copy_sleeper(int tid, stack_range on) noexcept {
  os::thread_watch watch;
  // Read first: if the thread had run between this and the look, it would have used more CPU time.
  std::int64_t const used_ns = os::thread_cpu_ns(tid);
  os::thread_state const state = watch.look(tid);
  if (used_ns < 0 || !sleeps_on(state, on)) return {};
  sleeper found{.program_counter = state.program_counter, .stack_pointer = state.stack_pointer, .call = state.call};
  auto const above = reinterpret_cast<std::uintptr_t>(on.high) - state.stack_pointer;
  found.bytes = std::min<std::size_t>(above, sleeper::bytes_max);
  found.copy = os::map(found.bytes).address;
  if (found.copy == nullptr) {
    found.bytes = 0;
    return found;
  }
  copy_words(found.copy, found.stack_pointer, found.bytes);
  if (watch.look(tid) != state || os::thread_cpu_ns(tid) != used_ns) forget(found);
  return found;
}

void forget(sleeper& gone) noexcept {
  if (gone.copy != nullptr) os::unmap(gone.copy, gone.bytes);
  gone = {};
}

std::uintptr_t return_address_in(std::uintptr_t word) noexcept {
  constexpr std::uintptr_t without_signature = 0x0000'ffff'ffff'ffff;
  std::uintptr_t const address = word & without_signature;
  return os::is_code(address) ? address : 0;
}

}  // namespace thrum::rt
