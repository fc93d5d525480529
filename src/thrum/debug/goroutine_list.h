// What a dump notes of all goroutines: what each does or waits for, where it stands and where it was made (S01, DL-14).
//
// The list is made with the world stopped (or dead), into memory of its own, because nothing may be allocated then
// (T01). Names of functions are looked up afterwards, when the world runs.
#pragma once

#include "core/sched.h"
#include "debug/sleeper.h"
#include "debug/wait_cycles.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace thrum::rt {

struct goroutine_entry {
  static constexpr std::size_t frames_max = 48;
  static constexpr std::size_t name_max = 48;

  std::uint64_t id;
  std::uint64_t created_by;
  std::uintptr_t created_at;  // the return address of the call that made it; 0: no goroutine made it
  std::int64_t waits_for_ns;  // 0: not known
  g_status status;
  wait_reason reason;
  bool is_locked;
  bool is_foreign;
  std::uint32_t frames;
  std::uintptr_t const* pcs;    // of its frames, innermost first
  std::uintptr_t announced_at;  // where the call that it is in was announced; 0: not known, or not in one
  sleeper asleep;               // in that call
  char name[name_max];

  [[nodiscard]] bool waits() const noexcept { return status == g_status::waiting; }
  [[nodiscard]] std::uintptr_t creation_call() const noexcept { return created_at - 1; }
  [[nodiscard]] bool is_cut() const noexcept { return frames == frames_max; }
};

// The goroutine with this id, or nullptr. Its record is looked for in portions, so that other threads get the lock of
// the records in between. Another goroutine may have the record later.
[[nodiscard]] G* find_goroutine(Sched& s, std::uint64_t id) noexcept;

class goroutine_list {
 public:
  goroutine_list() noexcept = default;
  ~goroutine_list();
  goroutine_list(goroutine_list const&) = delete;
  goroutine_list& operator=(goroutine_list const&) = delete;

  // Notes all goroutines except one, at most 100,000. With frames and names only if no thread can
  // run on their stacks or change their names meanwhile, that is, with the world stopped.
  enum class frames : bool { none, noted };
  static constexpr std::uint64_t no_id = 0;
  void note(Sched& s, frames wanted, std::uint64_t except_id = no_id) noexcept;
  // Notes one goroutine alone, if `g` has this id, without the cycles. It takes a time that does not depend on the
  // number of goroutines.
  void note_one(Sched& s, frames wanted, G const& g, std::uint64_t id) noexcept;

  // A sentence about the list that its readers are told, in addition to the goroutines: a literal, or nullptr.
  void set_remark(char const* remark) noexcept { remark_ = remark; }
  [[nodiscard]] char const* remark() const noexcept { return remark_; }

  [[nodiscard]] std::span<goroutine_entry const> entries() const noexcept { return {all_, count_}; }
  [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }  // there was no room for them
  [[nodiscard]] wait_cycles& cycles() noexcept { return cycles_; }

  // Prints the goroutines to standard error with addresses in place of names, and without the cycles. Allocates nothing
  // and takes no lock.
  void print_plainly() const noexcept;

  // The reader of the names has taken too long, so it is not to print the list when it comes to its end.
  void leave_names_out() noexcept { has_no_names_.store(true, relaxed); }  // relaxed: at worst both lists are printed
  [[nodiscard]] bool has_no_names() const noexcept { return has_no_names_.load(relaxed); }

 private:
  void make_room(std::size_t entries) noexcept;
  template <class F>
  void add(frames wanted, G const& g, F m_of, std::int64_t now_ns) noexcept;

  goroutine_entry* all_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
  std::size_t left_out_ = 0;
  // The frames of all entries, one after the other. There is room for the most that they can be, and only the pages
  // that are used cost memory.
  std::uintptr_t* next_frame_ = nullptr;
  wait_cycles cycles_;
  char const* remark_ = nullptr;
  atomic<bool> has_no_names_{false};
};

// "goroutine 7 [waiting: chan receive, locked to thread] name:". Times below a second are not shown, and a control
// character of the name is shown as "?". Allocates nothing.
class goroutine_head {
 public:
  explicit goroutine_head(goroutine_entry const& e) noexcept;
  [[nodiscard]] char const* text() const noexcept { return text_; }

 private:
  char text_[256];
};

// ", 3 minutes" or ", 7 s"; empty for times below a second.
void write_age(std::int64_t ns, char* out, std::size_t room) noexcept;

// "", ", locked to thread" or ", a thread from outside"
[[nodiscard]] char const* thread_note(goroutine_entry const& e) noexcept;

}  // namespace thrum::rt
