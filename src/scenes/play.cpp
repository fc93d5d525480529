#include "scenes/play.h"

#include "core/current.h"
#include "os/barrier.h"
#include "scenes/director.h"
#include "scenes/scenes_10_and_11.h"
#include "scenes/scenes_1_to_5.h"
#include "scenes/scenes_6_to_9.h"
#include "scenes/stage.h"
#include <thrum/run.h>

#include <array>
#include <exception>
#include <thread>

namespace thrum::scenes {
namespace {

using rt::trace::gate;

constexpr int procs = 4;
constexpr int queue_size = 4;
constexpr int ms_before = 6;           // M1 to M6 exist and rest when the first scene begins
constexpr int first_of_prologue = 21;  // the numbers of the goroutines that make them exist

// Makes six Ms: each runs a goroutine that enters a long system call, so that the next M is started for the next one.
void make_ms(stage& on) {
  for (int i = 0; i < ms_before; ++i) on.tell_to_create(stage::main_actor, first_of_prologue + i);
  on.tell_to_call(stage::main_actor, true);
}

// The goroutine that runs on each M.
std::array<int, ms_before + 1> let_ms_start(stage& on) {
  std::array<int, ms_before + 1> runs_on{};
  for (int m = 1; m <= ms_before; ++m) {
    on.await_at(m, gate::search);
    on.let_pass(m);
    int const actor = on.await_newcomer_on(m);
    runs_on[static_cast<std::size_t>(m)] = actor;
    on.tell_to_call(actor, true);
    on.await_in_call(actor);
  }
  return runs_on;
}

void let_end(stage& on, int actor, int m) {
  on.tell_to_end(actor);
  on.await_at(m, gate::search);
  on.let_rest(m);
}

// Six Ms rest, and four Ps are idle. The M and the P that came last are taken first, so they go in reverse order. Each
// P has begun a slice, because at the first of 61 ticks a P serves the global queue first.
void let_ms_rest(stage& on, std::array<int, ms_before + 1> const& runs_on) {
  auto const actor_on = [&](int m) { return runs_on[static_cast<std::size_t>(m)]; };
  for (int m = ms_before; m > procs; --m) {
    on.let_call_return(actor_on(m));
    on.await_command_of(actor_on(m));
    let_end(on, actor_on(m), m);
  }
  for (int m = 1; m <= procs; ++m) {
    on.let_call_return(actor_on(m));
    on.await_command_of(actor_on(m));
    on.tell_to_yield(actor_on(m));
    on.await_command_of(actor_on(m));
  }
  for (int m = procs; m > 0; --m) let_end(on, actor_on(m), m);
}

// The main goroutine makes G1 and waits in a system call from then on. M1 takes its P over, and runs G1.
void let_g1_run(stage& on) {
  on.let_call_return(stage::main_actor);
  on.await_command_of(stage::main_actor);
  on.tell_to_create(stage::main_actor, 1);
  on.tell_to_call(stage::main_actor, true);
  on.await_in_call(stage::main_actor);
  on.await_at(1, gate::search);
  on.let_pass(1);
  on.await_command_of(1);
  on.await_sysmon();
}

void direct(stage& on, recording& made) {
  on.await_opening();
  if (on.sched().options.randomize)
    throw stage_failure("the scenes need the usual order of run queues: leave randomize=1 out of THRUM_DEBUG");
  make_ms(on);
  let_ms_rest(on, let_ms_start(on));
  let_g1_run(on);
  director d(on, made);
  play_scene_1(d);
  play_scene_2(d);
  play_scene_3(d);
  play_scene_4(d);
  play_scene_5(d);
  play_scene_6(d);
  play_scene_7(d);
  play_scene_8(d);
  play_scene_9(d);
  play_scene_10(d);
  if (rt::os::has_barrier()) play_scene_11(d);  // otherwise a short call gives its P away as a long one does
}

}  // namespace

recording play() {
  recording made;
  made.title = {"How thrum schedules goroutines: eleven scenes", "thrum 如何调度 goroutine：十一个场景"};
  made.procs = procs;
  made.queue_size = queue_size;
  stage on;
  std::exception_ptr failure;
  std::thread driver([&] {
    try {
      direct(on, made);
    } catch (...) {
      failure = std::current_exception();
    }
    on.close();
  });
  try {
    thrum::run(
        [&on] {
          on.open(rt::current_m()->sched);
          try {
            on.play_main();
          } catch (...) {
            on.close();  // while the run is alive, because this uses its scheduler
            throw;
          }
        },
        {.max_procs = procs, .local_queue_capacity = queue_size, .deadlock_detection = false});
  } catch (...) {
    if (!failure) failure = std::current_exception();
    on.close();
  }
  driver.join();
  if (failure) std::rethrow_exception(failure);
  return made;
}

}  // namespace thrum::scenes
