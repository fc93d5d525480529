#include "os/interrupted_code.h"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>

#include <signal.h>
#include <ucontext.h>

namespace thrum::rt::os {

std::uintptr_t stack_pointer_of(void const* ucontext) noexcept {
  auto const& machine = static_cast<ucontext_t const*>(ucontext)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RSP]);
#else
  return machine.sp;
#endif
}

bool is_behind_a_system_call(std::uintptr_t program_counter) noexcept {
#if defined(__x86_64__)
  constexpr unsigned char instruction[] = {0x0f, 0x05};  // syscall
#else
  constexpr unsigned char instruction[] = {0x01, 0x00, 0x00, 0xd4};  // svc #0
#endif
  return std::memcmp(reinterpret_cast<void const*>(program_counter - sizeof instruction), instruction,
                     sizeof instruction) == 0;
}

std::uintptr_t program_counter_of(void const* ucontext) noexcept {
  auto const& machine = static_cast<ucontext_t const*>(ucontext)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#else
  return machine.pc;
#endif
}

stack_registers interrupted_registers(void const* ucontext) noexcept {
  auto const& machine = static_cast<ucontext_t const*>(ucontext)->uc_mcontext;
  stack_registers result;
#if defined(__x86_64__)
  constexpr int by_dwarf_number[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                     REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  static_assert(std::size(by_dwarf_number) == stack_registers::count);
  for (std::size_t n = 0; n < stack_registers::count; ++n) {
    result.by_number[n] = static_cast<std::uintptr_t>(machine.gregs[by_dwarf_number[n]]);
  }
#else
  for (std::size_t n = 0; n < stack_registers::sp; ++n) result.by_number[n] = machine.regs[n];
  result.by_number[stack_registers::sp] = machine.sp;
  result.by_number[stack_registers::pc] = machine.pc;
#endif
  return result;
}

// The kernel stores the thread's signal stack in uc_stack, whether or not the interrupted code was using it.
bool was_on_signal_stack(void const* ucontext) noexcept {
  stack_t const& its = static_cast<ucontext_t const*>(ucontext)->uc_stack;
  auto const low = reinterpret_cast<std::uintptr_t>(its.ss_sp);
  return stack_pointer_of(ucontext) - low < its.ss_size;
}

std::size_t signal_stack_left(void const* ucontext) noexcept {
  stack_t const& its = static_cast<ucontext_t const*>(ucontext)->uc_stack;
  auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  std::uintptr_t const left = here - reinterpret_cast<std::uintptr_t>(its.ss_sp);
  return left < its.ss_size ? left : std::numeric_limits<std::size_t>::max();
}

}  // namespace thrum::rt::os
