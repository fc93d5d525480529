// The states of G, M and P, and the legal changes between them (S28).
#pragma once

#include <cstddef>
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

// Whether a record in this state belongs to a goroutine.
[[nodiscard]] constexpr bool is_alive(g_status status) noexcept {
  return status != g_status::idle && status != g_status::dead;
}

enum class p_status : std::uint32_t { stopped, idle, running, syscall, dead };

// What the thread of an M is doing. Changed under sched.lock, by the pool of Ms only (core/m_pool.h).
enum class m_status : std::uint8_t {
  threadless,          // the record has no thread: it is new, or kept for another thread
  starting,            // its thread is being made, and will begin with the P that was promised to it
  starting_without_p,  // its thread is being made, to be idle: a spare thread, or one whose P was taken back
  awake,               // it holds a P, looks for work, or is in user code without a P, for example in a system call;
                       // or it was promised a P (M::next_p) and has not woken yet
  idle,                // it sleeps until it gets a P
  timekeeper,          // it sleeps until a timer is due or a descriptor is ready: see sched/timekeeper.h
  roused,              // it was the timekeeper, and was woken to look again
  in_place,            // it sleeps with its locked goroutine, until that goroutine was readied: see sched/own_thread.h
  queued,              // it sleeps in its goroutine's frames, until the goroutine's turn in the global queue
  paused,              // the same in the middle of user code: see sys/preempt.h
  paused_in_libc,      // the same, and it may hold a lock of the C library that other threads need
  resuming,            // its turn in the global queue has come, and it is about to be given a P
  waits_for_end,       // M0, after the main goroutine has left it
  dismissed,           // the run is over, and it gets no P any more
  let_go,              // its thread ends before the run does, and leaves the record to others
};
inline constexpr int m_statuses = static_cast<int>(m_status::let_go) + 1;

[[nodiscard]] char const* name_of(g_status status) noexcept;
[[nodiscard]] char const* name_of(p_status status) noexcept;
[[nodiscard]] char const* name_of(m_status status) noexcept;
[[nodiscard]] bool is_legal(g_status from, g_status to) noexcept;
[[nodiscard]] bool is_legal(p_status from, p_status to) noexcept;
[[nodiscard]] bool is_legal(m_status from, m_status to) noexcept;

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
inline constexpr std::size_t wait_reasons = static_cast<std::size_t>(wait_reason::io) + 1;
[[nodiscard]] char const* name_of(wait_reason reason) noexcept;
// Waits for a mutex or a shared_mutex.
[[nodiscard]] constexpr bool is_for_lock(wait_reason reason) noexcept {
  return reason == wait_reason::mutex || reason == wait_reason::read_lock || reason == wait_reason::write_lock;
}

}  // namespace thrum::rt
