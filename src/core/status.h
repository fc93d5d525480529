// The states of G and P, and the legal changes between them (S28).
#pragma once

#include <cstdint>

namespace thrum::rt {

enum class g_status : std::uint32_t {
  idle,       // just made, never used
  dead,       // in a free list, or being set up
  unstarted,  // runnable for the first time: it has no stack, and a joiner may claim it
  runnable,   // in a run queue
  running,    // on an M; its stack is in use
  waiting,    // parked, until a waker takes it out of its wait queue and readies it
  syscall,    // in the kernel with its M
  hosting,    // joined a child that runs on this stack: no context of its own until the child ends
};

enum class p_status : std::uint32_t { stopped, idle, running, syscall, dead };

[[nodiscard]] char const* name_of(g_status status) noexcept;
[[nodiscard]] char const* name_of(p_status status) noexcept;
[[nodiscard]] bool is_legal(g_status from, g_status to) noexcept;
[[nodiscard]] bool is_legal(p_status from, p_status to) noexcept;

// Ends the program with a message that names both states. An illegal change means that an invariant of the scheduler is
// broken.
[[noreturn]] void illegal_transition(char const* what, std::uint64_t id, char const* actual, char const* from,
                                     char const* to) noexcept;

// Why a goroutine waits, as the dump and the deadlock report print it.
enum class wait_reason : std::uint8_t {
  none,
  semaphore,
  mutex,
  wait_group,
  once,
  join,
  stack_memory,
  sleep,
  chan_send,
  chan_receive,
  send_on_nil,
  receive_on_nil,
  select,
  empty_select,
  read_lock,
  write_lock,
  condition_variable,
  latch,
  barrier,
  io,
};
[[nodiscard]] char const* name_of(wait_reason reason) noexcept;

}  // namespace thrum::rt
