#include "sys/cpu_samples.h"

#include "arch/stack_walk.h"
#include "base/round_up.h"
#include "core/current.h"
#include "os/guarded_call.h"
#include "os/interrupted_code.h"
#include "os/late_code.h"
#include "os/memory.h"
#include "os/shared_library.h"
#include "os/thread.h"
#include "stack/overflow.h"
#include "stack/stack.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace thrum::rt {
namespace {

constinit atomic<sampled_thread*> threads[os::sample_timers_max];
constinit atomic<bool> stacks_are_wanted{false};

// A walk takes some 4 KiB.
constexpr std::size_t stack_for_walk_bytes = 8192;

constexpr std::size_t head_words = offsetof(cpu_sample, pcs) / sizeof(std::uint64_t);
static_assert(sizeof(cpu_sample) == (head_words + cpu_sample::frames_max) * sizeof(std::uint64_t));

bool is_on_stack_of(G const& g, char const* sp) noexcept { return g.on != nullptr && is_on(*g.on, sp); }

// Where the stack that the thread is on ends. Empty: it is not known on which stack it is.
stack_range range_of(M const* m, char const* sp) noexcept {
  char const* const end_of_memory = reinterpret_cast<char const*>(std::numeric_limits<std::uintptr_t>::max());
  if (m != nullptr && m->current != nullptr && is_on_stack_of(*m->current, sp)) return {sp, m->current->on->top};
  if (lies_in_an_arena(sp)) return {};
  return {sp, end_of_memory};
}

void note_goroutine(G const& g, cpu_sample& to) noexcept {
  to.where = sampled_in::goroutine;
  to.goroutine = g.id;
  to.created_at = reinterpret_cast<std::uintptr_t>(g.task.created_at);
  if (g.name != nullptr) std::strncpy(to.name, g.name, cpu_sample::name_max - 1);
}

struct sampling {
  void const* ucontext;
  cpu_sample made;
};

// The frames come last, because a fault ends the call there.
void take(void* argument) noexcept {
  auto& its = *static_cast<sampling*>(argument);
  M const* const m = current_m();
  auto const* const sp = reinterpret_cast<char const*>(os::stack_pointer_of(its.ucontext));
  its.made.frames = 1;
  its.made.pcs[0] = os::program_counter_of(its.ucontext);
  its.made.where = m == nullptr || m->is_foreign ? sampled_in::foreign_thread : sampled_in::runtime;
  stack_range const on = range_of(m, sp);
  bool const is_in_handler =
      os::was_on_signal_stack(its.ucontext);  // of the program, which has interrupted a goroutine
  if (m != nullptr && !m->is_foreign && m->current != nullptr && (is_on_stack_of(*m->current, sp) || is_in_handler))
    note_goroutine(*m->current, its.made);
  if (on.low == nullptr || !stacks_are_wanted.load(relaxed)) return;
  if (os::signal_stack_left(its.ucontext) < stack_for_walk_bytes) return;
  its.made.has_gone_wrong = true;
  std::size_t const found =
      walk_stack(os::interrupted_registers(its.ucontext), on, its.made.pcs, cpu_sample::frames_max);
  its.made.has_gone_wrong = false;
  its.made.frames = static_cast<std::uint16_t>(std::max<std::size_t>(found, 1));
}

struct request {
  sampled_thread* to;
  std::uint32_t count;
  void const* ucontext;
};

void on_signal(std::size_t which, std::uint32_t count, void const* ucontext) noexcept {
  request its{threads[which].load(acquire), count, ucontext};  // pairs with make_sampled_thread
  if (its.to == nullptr) return;
  auto const sample = [](void* argument) noexcept {
    auto const& asked = *static_cast<request const*>(argument);
    asked.to->sample(asked.count, asked.ucontext);
  };
  static_cast<void>(os::call_guarded(sample, &its));  // it blocks signals
}

}  // namespace

void want_stacks(stacks_wanted wanted) noexcept { stacks_are_wanted.store(wanted == stacks_wanted::yes, relaxed); }

bool stacks_can_be_sampled() noexcept {
  // ThreadSanitizer calls the handler later than the kernel does, so the registers are old ones.
  return os::loader_can_be_asked && !os::program_is_static() && !with_tsan;
}

void sampled_thread::sample(std::uint32_t count, void const* ucontext) noexcept {
  at_work_.fetch_add(std::uint32_t{1}, seq_cst);
  if (tid_.load(seq_cst) == os::current_tid()) {
    sampling its;
    its.ucontext = ucontext;
    its.made = {};
    its.made.count = count;
    static_cast<void>(os::call_guarded(take, &its));  // a call of its own, because a fault may end it
    write(its.made);
  }
  at_work_.fetch_sub(std::uint32_t{1}, seq_cst);
}

void sampled_thread::write(cpu_sample const& from) noexcept {
  std::uint64_t const at = written_.load(relaxed);
  std::size_t const count = head_words + from.frames;
  if (at + count - read_.load(acquire) > words_max) {  // pairs with read(): the words were copied
    lost_.fetch_add(std::uint64_t{from.count}, relaxed);
    return;
  }
  auto const* const words = reinterpret_cast<unsigned char const*>(&from);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&words_[(at + i) % words_max], words + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
  }
  written_.store(at + count, release);  // pairs with read()
}

bool sampled_thread::read(cpu_sample& to) noexcept {
  std::uint64_t const at = read_.load(relaxed);
  if (written_.load(acquire) == at) return false;
  auto* const words = reinterpret_cast<unsigned char*>(&to);
  std::size_t count = head_words;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(words + i * sizeof(std::uint64_t), &words_[(at + i) % words_max], sizeof(std::uint64_t));
    if (i == 0) count += to.frames;
  }
  read_.store(at + count, release);
  return true;
}

sampled_thread* make_sampled_thread(std::size_t n) noexcept {
  if (sampled_thread* const made = threads[n].load(relaxed)) return made;
  char* const memory = os::map(round_up(sizeof(sampled_thread), os::page_size())).address;
  if (memory == nullptr) return nullptr;
  auto* const made = ::new (static_cast<void*>(memory)) sampled_thread;
  threads[n].store(made, release);
  return made;
}

void take_samples_on_signal() noexcept { os::set_sample_handler(on_signal); }

}  // namespace thrum::rt
