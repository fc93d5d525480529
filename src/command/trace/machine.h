// The scheduler as a trace tells it: what is in each queue, what each P and each M does, after each record.
//
// A trace does not say where each goroutine is in a queue. The machine follows the scheduler's rules: a new goroutine
// goes into runnext, the one before it to the tail, a full queue sends its older half to the global queue, thieves take
// the oldest. Where a record shows that a goroutine was elsewhere, the record is right: a goroutine that starts leaves
// whatever queue the machine has it in.
//
// Invariant: a goroutine is in the queue, or on the P, that its `at` and its `p` name, and in no other. So the file may
// contradict itself, and each loop that empties a queue still ends. Only `leave` takes a goroutine out of its place.
#pragma once

#include "command/trace/history.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thrum::command {

inline constexpr std::size_t ring_capacity = 256;

class machine {
 public:
  enum class place : std::uint8_t { nowhere, global, ring, next, running, waiting, in_call };

  struct goroutine {
    place at = place::nowhere;
    std::uint16_t p = no_p;
    std::uint64_t m = 0;      // of one in a call
    std::uint8_t reason = 0;  // of a waiting one
    bool has_run = false;
    bool was_preempted = false;  // and has not run since
  };
  struct proc {
    std::optional<std::uint64_t> m;
    std::optional<std::uint64_t> running;
    std::optional<std::uint64_t> next;
    std::deque<std::uint64_t> ring;  // the head first
    bool is_in_call = false;
  };
  struct thread {
    std::uint8_t state = 0;  // of the last record `m`
    bool is_spinning = false;
    std::optional<std::uint64_t> in_call;  // the goroutine whose call it makes
  };

  // What a record did, in the words of docs/recording.md.
  struct deed {
    char const* kind;
    std::optional<std::uint64_t> g{}, m{}, by{};
    std::optional<std::uint16_t> p{};
    std::optional<std::uint16_t> from_p{};
    std::vector<std::uint64_t> gs{};
    std::string text{};  // tells it in place of the other members
  };

  // Begins with what the history knows of the moment before the first record.
  explicit machine(history const& past, std::size_t queue_size = ring_capacity);

  // What the record did is added to `deeds`. Nothing is added by a record that changes nothing here.
  void apply(event const& now, std::vector<deed>& deeds);

  [[nodiscard]] std::deque<std::uint64_t> const& global() const noexcept { return global_; }
  [[nodiscard]] std::map<std::uint16_t, proc> const& procs() const noexcept { return procs_; }
  [[nodiscard]] std::map<std::uint64_t, thread> const& threads() const noexcept { return threads_; }
  [[nodiscard]] std::map<std::uint64_t, goroutine> const& goroutines() const noexcept { return goroutines_; }

 private:
  void of_goroutine(record const& one, std::vector<deed>& deeds);
  void of_p(record const& one, std::vector<deed>& deeds);
  void of_m(record const& one, std::vector<deed>& deeds);
  void run(std::uint64_t g, std::uint16_t p);
  void leave(std::uint64_t g);  // whatever place it is in
  void put_next(std::uint64_t g, std::uint16_t p, std::vector<deed>& deeds);
  void put_tail(std::uint64_t g, std::uint16_t p, std::vector<deed>& deeds);
  void put_global(std::uint64_t g);
  void wait(std::uint64_t g, std::uint8_t reason);
  void enter_call(std::uint64_t g, std::uint16_t p);
  void steal(std::uint16_t thief, std::uint64_t victim, std::uint64_t number, std::vector<deed>& deeds);
  void take_global(std::uint16_t p, std::uint64_t length, std::vector<deed>& deeds);
  [[nodiscard]] std::optional<std::uint64_t> m_of(std::uint16_t p) const;

  std::size_t queue_size_;  // of each P, without its runnext
  std::deque<std::uint64_t> global_;
  std::map<std::uint16_t, proc> procs_;
  std::map<std::uint64_t, thread> threads_;
  std::map<std::uint64_t, goroutine> goroutines_;
};

}  // namespace thrum::command
