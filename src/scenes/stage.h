// The stage on which the scenes are played: it holds the threads of a run at the gates of core/observer.h, and tells
// the goroutines of the story what to do. One thread, the driver, directs it. The driver is no thread of the run.
//
// Each thread of the run is at any time in one of these situations, and the stage knows in which:
//   - an M is held at a gate, rests, or is on its way to one of the two;
//   - a goroutine of the story ("actor") waits for its next command. It waits inside the runtime as far as sysmon can
//     see, so that its P is not taken;
//   - an actor is inside a system call, which ends when the driver says so.
// The driver lets one of them go on, and then waits until all that move have come to such a place again. So every step
// happens as told, whatever the kernel's scheduler does. If one does not come within the limit, the driver gives up
// with a message that says what it has waited for (stage_failure).
//
// Locks: a thread may take the stage's mutex while it holds sched.lock, never the other way round.
#pragma once

#include "core/observer.h"
#include "core/sched.h"
#include <thrum/wait_group.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace thrum::scenes {

struct stage_failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An event with the M on whose thread it happened.
struct seen_event {
  rt::trace::observed what;
  int m;  // -1: no M of the run
  int p;  // -1: none
};

class stage final : public rt::trace::observer {
 public:
  static constexpr int ms_max = 32;
  static constexpr int actors_max = 32;
  static constexpr int main_actor = 0;

  stage();

  // --- the run. Called on the main goroutine before it does anything else ---

  // Installs the observer, and announces a spinning M that does not exist, so that no goroutine that is created starts
  // an M. It is the situation in which a thread is that has called try_begin_spin (core/idle_state.h) and has not yet
  // found an M.
  void open(rt::Sched& s) noexcept;
  // The main goroutine follows the driver's commands until it is told to end. Returns when all actors have ended,
  // because they use the stage.
  void play_main();

  // --- observer ---

  void saw(rt::trace::observed const& event) noexcept override;
  void at_gate(rt::trace::gate where) noexcept override;

  // --- the driver ---

  [[nodiscard]] rt::Sched& sched() noexcept { return *sched_; }
  void await_opening();
  // Takes the announcement of open() back.
  void let_wake_ups_through();
  // From here on no thread is held and every actor ends.
  void close() noexcept;

  // What actors do. Each function but wait_for_command returns at once.
  void tell_to_create(int actor, int created);
  void tell_to_yield(int actor);
  void tell_to_call(int actor, bool long_call);
  void tell_to_end(int actor);
  void let_call_return(int actor);
  void await_command_of(int actor);  // until the actor has done what it was told
  void await_in_call(int actor);
  // Waits until an actor that has not begun before runs on M m. Returns its number.
  int await_newcomer_on(int m);

  // What Ms do.
  void await_at(int m, rt::trace::gate where);
  void let_pass(int m);      // the M that is held goes on to its next gate
  void let_rest(int m);      // the M passes all gates until it rests; waits until it does
  void hold_next_wake_up();  // the next thread that starts a spinning M is held at gate::wake
  void await_rest(int m);
  void await_sysmon();     // until sysmon is held
  void let_sysmon_look();  // sysmon looks once, and is held again

  // The story's number of the goroutine with this id of the run. -1: it has none.
  [[nodiscard]] int actor_of(std::uint64_t id) const;
  // The events since the last call.
  [[nodiscard]] std::vector<seen_event> take_events();

 private:
  enum class order : std::uint8_t { none, create, yield, short_call, long_call, end };
  enum class doing : std::uint8_t { nothing, acts, waits, calls };

  struct actor {
    std::uint64_t id = 0;
    doing what = doing::nothing;
    order next = order::none;
    int creates = -1;
    bool call_may_return = false;
    int m = -1;
    bool is_greeted = false;
  };
  struct held_m {
    bool is_held = false;
    rt::trace::gate where{};
    bool may_pass = false;
    bool goes_to_rest = false;
    bool rests = false;
  };

  void act(int number);
  order next_order(int number) noexcept;
  void wait_in_call(int number);
  void give_order(int number, order what);
  void note_creation(std::uint64_t id) noexcept;
  template <class Condition>
  void await(std::string const& what, Condition condition);
  [[nodiscard]] std::string situation() const;

  std::mutex mutable mutex_;
  std::condition_variable changed_;
  wait_group other_actors_;
  rt::Sched* sched_ = nullptr;
  bool is_closed_ = false;
  bool announces_spinner_ = false;
  bool holds_wake_up_ = false;
  int sysmon_arrivals_ = 0;
  int sysmon_may_pass_ = 0;
  int creates_next_ = -1;
  std::array<actor, actors_max> actors_{};
  std::array<held_m, ms_max> ms_{};
  static constexpr std::size_t events_max = 2048;
  std::array<seen_event, events_max> events_{};
  std::size_t event_count_ = 0;
};

}  // namespace thrum::scenes
