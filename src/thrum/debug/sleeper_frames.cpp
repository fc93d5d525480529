#include "debug/sleeper_frames.h"

#include "arch/entry.h"
#include "debug/libdw.h"
#include "os/loaded_code.h"

#include <algorithm>
#include <utility>

namespace thrum::rt {
namespace {

constexpr std::uintptr_t word_bytes = sizeof(std::uintptr_t);
// The size of a usual frame.
constexpr std::uintptr_t guessed_bytes_max = 512 * word_bytes;

// libdw needs numbers for the process and its thread. It uses them only in calls of the callbacks below.
constexpr pid_t the_only_thread = 1;

struct start {
  std::uintptr_t program_counter;
  std::uintptr_t stack_pointer;
  std::uintptr_t frame_pointer;  // 0: not known
};

// One walk. libdw knows one process per reader, with one set of callbacks, so the callbacks find the present walk in a
// variable.
class walk {
 public:
  walk(sleeper const& on, start const& from) noexcept : on_(on), from_(from), read_up_to_(from.stack_pointer) {}

  void go(Dwfl* reader) {
    libdw const& dw = libdw::loaded();
    static Dwfl_Thread_Callbacks const callbacks{
        .next_thread = [](Dwfl*, void*, void**) -> pid_t { return 0; },
        .get_thread = [](Dwfl*, pid_t, void*, void**) { return true; },
        .memory_read = [](Dwfl*, Dwarf_Addr at, Dwarf_Word* out, void*) { return present->read(at, *out); },
        .set_initial_registers = [](Dwfl_Thread* thread, void*) { return present->set_registers(thread); },
        .detach = nullptr,
        .thread_detach = nullptr,
    };
    if (dw.dwfl_pid(reader) < 0 && !dw.dwfl_attach_state(reader, nullptr, the_only_thread, &callbacks, nullptr)) return;
    present = this;
    dw.dwfl_getthread_frames(
        reader, the_only_thread, [](Dwfl_Frame* frame, void*) { return present->visit(frame); }, nullptr);
    present = nullptr;
  }

  [[nodiscard]] std::vector<std::uintptr_t>& pcs() noexcept { return pcs_; }
  [[nodiscard]] bool is_whole() const noexcept { return !pcs_.empty() && is_outermost_frame(pcs_.back()); }
  // The stack below this address belongs to the frames that were found.
  [[nodiscard]] std::uintptr_t read_up_to() const noexcept { return read_up_to_; }

 private:
  bool set_registers(Dwfl_Thread* thread) noexcept {
    libdw const& dw = libdw::loaded();
    Dwarf_Word const sp = from_.stack_pointer;
    Dwarf_Word const fp = from_.frame_pointer;
    bool const is_set = dw.dwfl_thread_state_registers(thread, stack_registers::sp, 1, &sp) &&
                        (fp == 0 || dw.dwfl_thread_state_registers(thread, stack_registers::fp, 1, &fp));
    dw.dwfl_thread_state_register_pc(thread, from_.program_counter);
    return is_set;
  }

  bool read(Dwarf_Addr address, Dwarf_Word& out) noexcept {
    std::uintptr_t word = 0;
    if (!on_.read(address, word)) return false;
    read_up_to_ = std::max<std::uintptr_t>(read_up_to_, address + word_bytes);
    std::uintptr_t const code = return_address_in(word);
    out = code != 0 ? code : word;  // older versions of libdw do not know signed addresses
    return true;
  }

  int visit(Dwfl_Frame* frame) {
    Dwarf_Addr pc = 0;
    bool is_exact = false;
    if (!libdw::loaded().dwfl_frame_pc(frame, &pc, &is_exact) || pc == 0) return DWARF_CB_ABORT;
    pcs_.push_back(is_exact ? pc : pc - 1);
    return pcs_.size() == sleeper_frames::known_max ? DWARF_CB_ABORT : DWARF_CB_OK;
  }

  static thread_local walk* present;

  sleeper const& on_;
  start const from_;
  std::uintptr_t read_up_to_;
  std::vector<std::uintptr_t> pcs_;
};

thread_local walk* walk::present = nullptr;

// Whether the word at `at` may be a return address, and the registers that its caller would then have.
bool looks_like_a_return(sleeper const& asleep, std::uintptr_t at, start& caller) noexcept {
  std::uintptr_t word = 0;
  std::uintptr_t below = 0;
  if (!asleep.read(at, word) || !asleep.read(at - word_bytes, below)) return false;
  std::uintptr_t const address = return_address_in(word);
  if (address == 0) return false;
#if defined(__aarch64__)
  // This is a frame record, and `below` is the address of the caller's record. That is the lowest word of the caller's
  // frame, or the word that its position is computed from.
  if (below <= at) return false;
  caller = {address - 1, below, below};
#elif defined(__x86_64__)
  caller = {address - 1, at + word_bytes, below};
#endif
  return true;
}

std::vector<std::uintptr_t> guess_callers(sleeper const& asleep, Dwfl* reader, std::uintptr_t above) {
  for (std::uintptr_t at = above; at < above + guessed_bytes_max; at += word_bytes) {
    start caller{};
    if (!looks_like_a_return(asleep, at, caller)) continue;
    walk whole(asleep, caller);
    whole.go(reader);
    if (whole.is_whole()) return std::move(whole.pcs());
  }
  return {};
}

}  // namespace

std::vector<std::uintptr_t> guess_caller_in_program(sleeper const& asleep) {
  std::uintptr_t word = 0;
  for (std::uintptr_t at = asleep.stack_pointer; at < asleep.stack_pointer + guessed_bytes_max; at += word_bytes) {
    if (!asleep.read(at, word)) break;
    std::uintptr_t const address = return_address_in(word);
    if (os::is_code_of_the_program(address)) return {address - 1};
  }
  return {};
}

sleeper_frames frames_of(sleeper const& asleep, Dwfl* reader) {
  sleeper_frames found;
  if (reader != nullptr) {
    walk known(asleep, {asleep.program_counter, asleep.stack_pointer, 0});
    known.go(reader);
    found.is_whole = known.is_whole();
    found.known = std::move(known.pcs());
    bool const goes_on = !found.is_whole && found.known.size() < sleeper_frames::known_max;
    if (goes_on) found.guessed = guess_callers(asleep, reader, known.read_up_to());
  }
  if (found.known.empty()) found.known.push_back(asleep.program_counter);
  return found;
}

}  // namespace thrum::rt
