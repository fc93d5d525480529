#include "arch/stack_walk.h"

#include "arch/context.h"
#include "base/platform.h"

#include <unwind.h>

// Visits its own frame first and then the frames of the stack that the registers belong to. See
// stack_walk_<architecture>.S.
extern "C" __attribute__((visibility("hidden"))) _Unwind_Reason_Code thrum_unwind_from(
    thrum::rt::stack_registers const* from, _Unwind_Trace_Fn visit, void* argument) noexcept;

namespace thrum::rt {

static_assert(offsetof(stack_registers, by_number) == 0 && sizeof(std::uintptr_t) == 8,
              "the assembler finds register n at 8 n");

namespace {

bool lies_on(stack_range on, std::uintptr_t sp) noexcept {
  return sp >= reinterpret_cast<std::uintptr_t>(on.low) && sp < reinterpret_cast<std::uintptr_t>(on.high);
}

class walk {
 public:
  walk(stack_range on, std::uintptr_t* pcs, std::size_t max) noexcept : on_(on), pcs_(pcs), max_(max) {}

  void unwind(stack_registers const& from) noexcept {
    is_own_frame_ = true;
    callee_sp_ = from.by_number[stack_registers::sp];
    thrum_unwind_from(
        &from, [](_Unwind_Context* frame, void* self) { return static_cast<walk*>(self)->visit(frame); }, this);
  }
  void add(std::uintptr_t pc) noexcept { pcs_[count_++] = pc; }
  [[nodiscard]] bool full() const noexcept { return count_ == max_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  _Unwind_Reason_Code visit(_Unwind_Context* frame) noexcept {
    if (is_own_frame_) {
      is_own_frame_ = false;
      return _URC_NO_REASON;
    }
    int is_exact = 0;
    std::uintptr_t const pc = _Unwind_GetIPInfo(frame, &is_exact);
    std::uintptr_t const sp = _Unwind_GetCFA(frame);
    // A function that a signal interrupted may not have made its frame, so its caller may have the same stack pointer.
    // A function that has made a call has a frame.
    bool const is_above = sp > callee_sp_ || (sp == callee_sp_ && callee_is_exact_);
    if (pc == 0 || !is_above || !lies_on(on_, sp) || full()) return _URC_END_OF_STACK;
    add(is_exact != 0 ? pc : pc - 1);
    callee_sp_ = sp;
    callee_is_exact_ = is_exact != 0;
    return full() ? _URC_END_OF_STACK : _URC_NO_REASON;
  }

  stack_range on_;
  std::uintptr_t* pcs_;
  std::size_t max_;
  std::size_t count_ = 0;
  bool is_own_frame_ = true;
  std::uintptr_t callee_sp_ = 0;
  bool callee_is_exact_ = true;
};

// If the unwinder finds no information for a program counter, it reads the instructions there in search of a signal
// frame. That would fault for a wild program counter, so the walk asks this first.
bool has_unwind_information(std::uintptr_t pc) noexcept {
  return pc != 0 && _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(pc + 1)) != nullptr;
}

// For code without unwind information, which is a linkage stub or the target of a call through a wild pointer. It
// assumes that no frame has been made, so that the return address is where the call instruction left it. Returns false
// if no known code is at that address.
THRUM_NO_ASAN THRUM_NO_TSAN bool step_out_of_unknown_code(stack_registers& registers,
                                                          [[maybe_unused]] stack_range on) noexcept {
#if defined(__aarch64__)
  std::uintptr_t const returns_to = registers.by_number[stack_registers::lr];
#elif defined(__x86_64__)
  std::uintptr_t& sp = registers.by_number[stack_registers::sp];
  if (!lies_on(on, sp + sizeof sp - 1)) return false;
  std::uintptr_t const returns_to = *reinterpret_cast<std::uintptr_t const*>(sp);
  sp += sizeof sp;
#endif
  registers.by_number[stack_registers::pc] = returns_to - 1;
  return returns_to != 0 && has_unwind_information(returns_to - 1);
}

}  // namespace

stack_registers registers_of(context const& saved) noexcept {
  stack_registers result;
  result.by_number[stack_registers::sp] = reinterpret_cast<std::uintptr_t>(saved.sp);
  result.by_number[stack_registers::fp] = reinterpret_cast<std::uintptr_t>(saved.fp);
  result.by_number[stack_registers::pc] = reinterpret_cast<std::uintptr_t>(saved.pc);
  return result;
}

std::size_t walk_stack(stack_registers const& from, stack_range on, std::uintptr_t* pcs, std::size_t max) noexcept {
  if (max == 0) return 0;
  walk all(on, pcs, max);
  std::uintptr_t const pc = from.by_number[stack_registers::pc];
  bool const is_on_its_stack = lies_on(on, from.by_number[stack_registers::sp]);
  if (is_on_its_stack && has_unwind_information(pc)) {
    all.unwind(from);
    return all.count();
  }
  all.add(pc);
  stack_registers caller = from;
  if (is_on_its_stack && !all.full() && step_out_of_unknown_code(caller, on)) all.unwind(caller);
  return all.count();
}

void prepare_stack_walks() noexcept {
  stack_registers here;
  here.by_number[stack_registers::pc] = reinterpret_cast<std::uintptr_t>(&prepare_stack_walks);
  (void)has_unwind_information(here.by_number[stack_registers::pc]);
  walk nowhere({nullptr, nullptr}, nullptr, 0);
  nowhere.unwind(here);  // ends at the first frame, which is outside the empty range
}

}  // namespace thrum::rt
