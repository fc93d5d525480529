#include "stack/overflow.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/platform.h"
#include "os/interrupted_code.h"
#include "stack/arena.h"
#include "stack/registry.h"
#include "stack/stack.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <dlfcn.h>

namespace thrum::rt {
namespace {

std::uintptr_t number_of(char const* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }
void const* as_text(char const* address) noexcept { return address; }  // for %p, which takes a void pointer

constinit atomic<void (*)() noexcept> begin_report{nullptr};
constinit atomic<overflow_victim (*)(stack const&) noexcept> running_on{nullptr};
constinit atomic<void (*)(stack_registers const&, stack_range) noexcept> print_frames{nullptr};

overflow_victim victim_on(stack const& on) noexcept {
  overflow_victim const bound{on, on.goroutine_id, on.creation_site};
  auto const ask = running_on.load(acquire);  // pairs with set_overflow_hooks
  if (bound.id == 0 || ask == nullptr) return bound;
  overflow_victim const runs = ask(on);
  return runs.id != 0 ? runs : bound;
}

void begin() noexcept {
  if (auto const hook = begin_report.load(acquire)) hook();  // pairs with set_overflow_hooks
}

void show_frames(stack_registers const& from, stack_range on) noexcept {
  if (auto const print = print_frames.load(acquire)) print(from, on);  // pairs with set_overflow_hooks
}

struct guard_hit {
  arena const* owner;  // nullptr: the address is in no guard
  std::uint32_t slot;
};

guard_hit find_guard(char const* address) noexcept {
  arena const* const owner = arena_by_address(address);
  if (owner == nullptr || address < owner->first_slot) return {nullptr, 0};
  auto const slot = static_cast<std::size_t>(address - owner->first_slot) / owner->geometry.stride;
  // acquire: pairs with the pool's release in claim_slot. A slot that was never carved has no guard. A carved slot may
  // also have no guard, but then an access there does not fault.
  if (slot >= owner->carved.load(acquire)) return {nullptr, 0};
  auto const number = static_cast<std::uint32_t>(slot);
  if (address >= owner->slot_low(number)) return {nullptr, 0};
  return {owner, number};
}

void print_creation_site(void* site) noexcept {
  Dl_info symbol{};
  if (site == nullptr) {
    print_error("created at an unknown place");
  } else if (dladdr(site, &symbol) == 0) {
    print_error("created at pc %p", site);
  } else if (symbol.dli_sname != nullptr) {
    print_error("created at %.600s+0x%tx (pc %p)", symbol.dli_sname,
                static_cast<char*>(site) - static_cast<char*>(symbol.dli_saddr), site);
  } else {
    print_error("created at %.600s+0x%tx (pc %p)", symbol.dli_fname,
                static_cast<char*>(site) - static_cast<char*>(symbol.dli_fbase), site);
  }
}

void print_remedy(std::size_t size) noexcept {
  if (size >= stack_size_max) {
    print_error("no stack can be larger than these %zu bytes: look for a recursion without an end", size);
  } else {
    print_error("raise it with thrum::go(thrum::stack_size{%zu}, f) or options::stack_size (currently %zu)",
                std::min(2 * size, stack_size_max), size);
  }
}

// If a stray pointer hit the guard, the descriptor may belong to a goroutine that runs on another thread. The values
// that are read may then be stale, but they are never invalid. ThreadSanitizer must not be called in a signal handler.
[[noreturn]] THRUM_NO_TSAN void report(guard_hit hit, char const* address, stack_registers const& at) noexcept {
  begin();
  std::uintptr_t const sp = at.by_number[stack_registers::sp];
  std::uintptr_t const pc = at.by_number[stack_registers::pc];
  stack const& victim = *hit.owner->descriptor(hit.slot);
  char const* const begin = hit.owner->slot_begin(hit.slot);
  char const* const low = hit.owner->slot_low(hit.slot);
  char const* const top = reinterpret_cast<char const*>(&victim);
  if (victim.goroutine_id == 0) {  // also if its memory was given back and reads as zero
    print_error(
        "thrum: fault at %p (pc 0x%zx, sp 0x%zx) in the guard of the stack [%p, %p), on which no goroutine "
        "runs. This is probably a stray pointer",
        as_text(address), pc, sp, as_text(low), as_text(top));
    die();
  }
  overflow_victim const runs = victim_on(victim);
  print_error(
      "thrum: goroutine %zu stack overflow: the stack of %zu bytes [%p, %p) is used up "
      "(fault at %p, sp 0x%zx)",
      static_cast<std::size_t>(runs.id), victim.size, as_text(low), as_text(top), as_text(address), sp);
  if (sp > number_of(top)) {
    print_error("sp is %zu bytes above this stack (pc 0x%zx): perhaps a stray pointer of other code hit its guard",
                sp - number_of(top), pc);
  } else if (sp < number_of(begin)) {
    print_error(
        "sp is %zu bytes below its guard (pc 0x%zx): perhaps one frame is larger than the guard of %zu "
        "bytes, or a stray pointer of other code hit it",
        number_of(begin) - sp, pc, hit.owner->geometry.guard_bytes);
  }
  if (runs.id != victim.goroutine_id) {
    print_error("goroutine %zu runs on the stack of goroutine %zu, which joins it", static_cast<std::size_t>(runs.id),
                static_cast<std::size_t>(victim.goroutine_id));
  }
  bool const is_here = sp >= number_of(begin) && sp <= number_of(top);
  if (is_here) show_frames(at, {begin, top});
  print_creation_site(runs.creation_site);
  print_remedy(victim.size);
  die();
}

}  // namespace

bool report_if_overflow(int signal, siginfo_t* info, void* ucontext) noexcept {
  if (signal != SIGSEGV || info->si_code <= 0) return false;  // 0 or less: sent by a process, so si_addr is not set
  auto const* const address = static_cast<char const*>(info->si_addr);
  guard_hit const hit = find_guard(address);
  if (hit.owner == nullptr) return false;
  report(hit, address, os::interrupted_registers(ucontext));
}

void set_overflow_hooks(overflow_hooks hooks) noexcept {
  begin_report.store(hooks.begin, release);         // pairs with begin's acquire
  running_on.store(hooks.running_on, release);      // pairs with victim_on's acquire
  print_frames.store(hooks.print_frames, release);  // pairs with show_frames' acquire
}

bool lies_in_an_arena(char const* address) noexcept { return arena_by_address(address) != nullptr; }

void report_jump(overflow_victim const& jumped, stack_registers const& at) noexcept {
  begin();
  stack const& own = jumped.on;
  auto const* const sp = reinterpret_cast<char const*>(at.by_number[stack_registers::sp]);
  print_error(
      "thrum: goroutine %zu stack overflow: sp %p is outside its stack of %zu bytes [%p, %p): a frame that is larger "
      "than the guard of %zu bytes jumped over it, and the stack of another goroutine may be overwritten",
      static_cast<std::size_t>(jumped.id), as_text(sp), own.size, as_text(own.low), as_text(own.top),
      stack_guard_bytes);
  if (sp < own.low) show_frames(at, {sp, own.top});
  print_creation_site(jumped.creation_site);
  print_error("compile with -fstack-clash-protection, which stops such a frame at the guard");
  print_remedy(own.size);
  die();
}

}  // namespace thrum::rt
