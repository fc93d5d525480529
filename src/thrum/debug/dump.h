// The goroutine dump: all goroutines, what each waits for, where each stands and where it was made (S01, DL-14).
//
// It is made in two steps. With the world stopped (or dead) everything is only noted, into memory of its own, because
// nothing may be allocated then (T01). Names of functions are looked up afterwards, when the world runs.
#pragma once

#include "base/atomic.h"
#include "core/sched.h"
#include "core/status.h"
#include "debug/sleeper.h"
#include "debug/symbols.h"
#include "debug/wait_cycles.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace thrum::rt {

class goroutine_list {
 public:
  goroutine_list() noexcept = default;
  ~goroutine_list();
  goroutine_list(goroutine_list const&) = delete;
  goroutine_list& operator=(goroutine_list const&) = delete;

  // Notes all goroutines except the one whose id is `but`. With frames and names only if no thread can run on their
  // stacks or change their names meanwhile, that is, with the world stopped.
  enum class frames : bool { none, noted };
  void note(Sched& s, frames wanted, std::uint64_t but = 0) noexcept;

  // Writes the cycles of goroutines that wait for each other's locks. Then, for each goroutine, "goroutine 7 [waiting:
  // chan receive, locked to thread] name:", its frames, and the place where it was made.
  void write(symbols& known, std::string& out);
  // Prints the same to standard error with addresses in place of names, and without the cycles. Allocates nothing and
  // takes no lock.
  void print_plainly() const noexcept;

  // The reader of the names has taken too long, so it is not to print its list when it comes to its end.
  void leave_names_out() noexcept { has_no_names_.store(true, relaxed); }  // relaxed: at worst both lists are printed
  [[nodiscard]] bool has_no_names() const noexcept { return has_no_names_.load(relaxed); }

  struct entry_of {
    static constexpr std::size_t frames_max = 48;
    static constexpr std::size_t name_max = 48;

    std::uint64_t id;
    std::uint64_t created_by;
    std::uintptr_t created_at;  // 0: no goroutine made it
    std::int64_t waits_for_ns;  // 0: not known
    g_status status;
    wait_reason reason;
    bool is_locked;
    bool is_foreign;
    std::uint32_t frames;
    std::uintptr_t announced_at;  // where the call that it is in was announced; 0: not known, or not in one
    sleeper asleep;               // in that call
    char name[name_max];
    std::uintptr_t pcs[frames_max];
  };
  [[nodiscard]] std::span<entry_of const> entries() const noexcept { return {all_, count_}; }
  [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }

 private:
  void make_room(std::size_t entries) noexcept;

  entry_of* all_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
  std::size_t left_out_ = 0;
  wait_cycles cycles_;
  atomic<bool> has_no_names_{false};
};

// Prints to standard error: plainly if no thread can be made to read the names, or if its reader takes too long
// (with_symbols_in_time). In the latter case returns false, and the list has to live as long as the program. Blocks the
// calling thread. May be called inside the runtime.
[[nodiscard]] bool print_goroutines(goroutine_list& all) noexcept;

}  // namespace thrum::rt
