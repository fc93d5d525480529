#include "command/play/player.h"

#include "command/trace/text.h"
#include <thrum/blocking.h>
#include <thrum/defer.h>
#include <thrum/go.h>
#include <thrum/sleep.h>
#include <thrum/stats.h>
#include <thrum/trace.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <utility>

namespace thrum::command {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto watch_every = 5ms;
constexpr auto patience = 200ms;  // for goroutines that leave: as long as the end of a run waits for them
// A goroutine that computes looks at the clock about this often, and counts no more than ten times as much. So the time
// in which it was preempted does not count.
constexpr auto chunk = 5us;

void sleep_in_the_kernel(std::chrono::nanoseconds length) {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  auto const end = std::chrono::seconds(until.tv_sec) + std::chrono::nanoseconds(until.tv_nsec) + length;
  until.tv_sec = static_cast<time_t>(end / 1s);
  until.tv_nsec = static_cast<long>((end % 1s).count());
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

// Computes for some 100 ns.
void compute() {
  unsigned volatile number = 1;
  for (int i = 0; i < 64; ++i) number = number * 3 + 1;
}

}  // namespace

// A goroutine is in an operation in which it may wait for another goroutine.
class player::in_operation {
 public:
  explicit in_operation(player& of) : of_(of) {
    of_.operations_.fetch_add(1U, detail::seq_cst);
    of_.in_operations_.fetch_add(1, detail::seq_cst);
  }
  ~in_operation() {
    of_.in_operations_.fetch_sub(1, detail::seq_cst);
    of_.operations_.fetch_add(1U, detail::seq_cst);
  }
  in_operation(in_operation const&) = delete;
  in_operation& operator=(in_operation const&) = delete;

 private:
  player& of_;
};

player::player(scenario const& what) : what_(what), mutexes_(what.mutexes.size()) {
  for (channel const& each : what.channels) channels_.emplace_back(static_cast<std::size_t>(each.capacity));
  over_.add(1);
}

// --- goroutines ---

void player::play(std::string const& trace_path) {
  defer const ends = [this] { finish(); };
  try {
    thrum::trace::start(trace_path);
  } catch (std::logic_error const&) {
    throw another_trace();
  }
  this_goroutine::set_name("scenario");
  living_.store(1, detail::seq_cst);
  {
    std::lock_guard const guard(mutex_);
    has_begun_ = true;
    end_ = clock::now() + what_.limit;
    changed_.notify_all();
  }
  for (command::start const& each : what_.starts) {
    if (!start(each.body, each.count)) break;
  }
  leave();
  over_.wait();
  note_end(clock::now());
  thrum::trace::stop();
}

bool player::start(std::size_t body, int count) {
  for (; count > 0 && goes_on(); --count) {
    int const number = started_.fetch_add(1, detail::seq_cst);
    if (number >= scenario_goroutines_max) {
      conclude(ending::too_many_goroutines,
               text("the scenario has started %d goroutines, which is the limit", scenario_goroutines_max));
      return false;
    }
    actor& made = actors_[static_cast<std::size_t>(number)];
    made.body.store(body, detail::release);  // pairs with name_of
    living_.fetch_add(1, detail::seq_cst);
    thrum::go([this, &made] { act(made); });
  }
  return goes_on();
}

void player::act(actor& me) {
  body const& its = what_.bodies[me.body.load(detail::acquire)];  // pairs with start
  me.id.store(this_goroutine::id(), detail::release);             // pairs with name_of
  this_goroutine::set_name(its.name);
  perform_all(me, its.statements);
  me.has_ended.store(true, detail::release);  // pairs with note_those_left
  leave();
}

void player::leave() {
  if (living_.fetch_sub(1, detail::seq_cst) == 1) tell_main();
}

void player::tell_main() {
  if (!main_is_told_.exchange(true, detail::acq_rel)) over_.done();
}

bool player::perform_all(actor& me, std::vector<statement> const& all) {
  return std::all_of(all.begin(), all.end(), [&](statement const& one) { return perform_one(me, one); });
}

bool player::perform_one(actor& me, statement const& one) {
  if (!goes_on()) return false;
  if (statements_.fetch_add(1, detail::relaxed) >= scenario_statements_max) {  // only a number
    conclude(ending::too_many_statements,
             text("the goroutines have begun %d statements, which is the limit", scenario_statements_max));
    return false;
  }
  me.at.store(&one, detail::release);  // pairs with note_those_left
  thrum::trace::log(label_of(one));
  switch (one.what) {
    case verb::go: return start(one.target, one.count);
    case verb::send: return send(me, one);
    case verb::recv: {
      in_operation const waits(*this);
      static_cast<void>(channels_[one.target].recv());
      break;
    }
    case verb::close: return close(me, one);
    case verb::lock: return lock(me, one);
    case verb::spin: spin(one.duration); break;
    case verb::sleep: sleep_for(one.duration); break;
    case verb::syscall:
      if (one.call == call_kind::unannounced) {
        sleep_in_the_kernel(one.duration);
      } else {
        blocking([&] { sleep_in_the_kernel(one.duration); },
                 one.call == call_kind::long_call ? blocking_hint::long_call : blocking_hint::may_be_short);
      }
      break;
    case verb::yield: yield(); break;
    case verb::block: {
      in_operation const waits(*this);
      static_cast<void>(nothing_.recv());
      break;
    }
    case verb::repeat:
      for (int i = 0; i < one.count; ++i) {
        if (!goes_on() || !perform_all(me, one.block)) return false;
      }
      break;
  }
  return goes_on();
}

bool player::send(actor const& me, statement const& one) {
  try {
    in_operation const waits(*this);
    channels_[one.target].send(1);
  } catch (channel_closed const&) {
    conclude(ending::fault, told_of(me, one, "sent on", "is closed"));
  }
  return goes_on();
}

bool player::close(actor const& me, statement const& one) {
  try {
    channels_[one.target].close();
  } catch (channel_closed const&) {
    conclude(ending::fault, told_of(me, one, "closed", "was closed already"));
  }
  return goes_on();
}

std::string player::told_of(actor const& me, statement const& one, char const* did, char const* why_not) const {
  return text("%s has %s the channel %s at line %d, which %s", name_of(me).c_str(), did,
              what_.channels[one.target].name.c_str(), one.at.line, why_not);
}

// "G5 worker". It may be called on any thread.
std::string player::name_of(actor const& one) const {
  auto const id = static_cast<unsigned long long>(one.id.load(detail::acquire));  // pairs with act
  std::string const& its = what_.bodies[one.body.load(detail::acquire)].name;     // pairs with start
  return id == 0 ? its : text("G%llu %s", id, its.c_str());
}

bool player::lock(actor& me, statement const& one) {
  mutex& locked = mutexes_[one.target];
  {
    in_operation const waits(*this);
    locked.lock();
  }
  bool const goes_on = perform_all(me, one.block);
  locked.unlock();
  return goes_on;
}

void player::spin(std::chrono::nanoseconds length) const {
  auto last = clock::now();
  for (std::chrono::nanoseconds done{}; done < length && goes_on();) {
    std::chrono::nanoseconds const left = length - done;
    for (auto computed = 0ns; computed < std::min<std::chrono::nanoseconds>(chunk, left); computed += 100ns) compute();
    auto const now = clock::now();
    done += std::min<std::chrono::nanoseconds>(now - last, 10 * chunk);
    last = now;
  }
}

void player::conclude(ending how, std::string why) {
  std::lock_guard const guard(of_result_);
  if (is_stopping_.exchange(true, detail::acq_rel)) return;  // pairs with goes_on()
  result_.how = how;
  result_.why = std::move(why);
}

// The first one decides. The calls of the runtime that follow are in the trace, too.
void player::note_end(clock::time_point when) {
  std::lock_guard const guard(of_result_);
  if (result_.until == clock::time_point{}) result_.until = when;
}

// --- the watcher ---

void player::finish() {
  std::lock_guard const guard(mutex_);
  is_finished_ = true;
  changed_.notify_all();
}

void player::watch() {
  try {
    watch_until_finished();
  } catch (...) {
    tell_main();
    throw;
  }
}

void player::watch_until_finished() {
  std::unique_lock guard(mutex_);
  changed_.wait(guard, [this] { return has_begun_ || is_finished_; });
  auto const is_finished = [this] { return is_finished_; };
  while (!changed_.wait_for(guard, watch_every, is_finished)) {
    if (!has_to_stop()) continue;
    stop();
    changed_.wait(guard, is_finished);
  }
}

bool player::has_to_stop() {
  if (main_is_told_.load(detail::acquire)) return false;  // the run is about to end by itself
  if (!goes_on()) return true;
  if (clock::now() >= end_) {
    note_those_left();  // before one that computes can see that it has to stop
    conclude(ending::time_limit,
             text("the scenario has reached its time limit of %s",
                  duration(static_cast<double>(std::chrono::nanoseconds(what_.limit).count())).c_str()));
  } else if (is_stuck()) {
    conclude(ending::deadlock, "deadlock: no goroutine that is left can ever run again");
  }
  return !goes_on();
}

// A goroutine that is readied stays in its operation until it runs, so the counts of operations do not show whether one
// can go on. The runtime's figures show that all wait. They are not from one moment, but a goroutine that has readied
// another one meanwhile has begun or ended an operation meanwhile, or runs.
bool player::is_stuck() {
  std::uint64_t const before = operations_.load(detail::seq_cst);
  bool const is_quiet = std::exchange(operations_seen_, before) == before;
  int const living = living_.load(detail::seq_cst);
  if (!is_quiet || living == 0 || in_operations_.load(detail::seq_cst) != living) return false;
  auto const looked_at = clock::now();
  stats const now = read_stats();
  bool const all_wait = now.running + now.runnable + now.in_calls == 0;
  bool const none_can_run = all_wait && now.waiting == static_cast<std::uint64_t>(living) + 1 &&  // and main
                            operations_.load(detail::seq_cst) == before && living_.load(detail::seq_cst) == living;
  if (none_can_run) note_end(looked_at);
  return none_can_run;
}

void player::stop() {
  defer const lets_main_go = [this] { tell_main(); };  // first: also if there is no memory for what follows
  note_end(clock::now());
  note_those_left();
  thrum::trace::stop();
  nothing_.close();
  for (chan<int> const& each : channels_) {
    try {
      each.close();
    } catch (channel_closed const&) {  // a goroutine has closed it
    }
  }
  auto const end = clock::now() + patience;
  while (has_left_goroutines() && clock::now() < end) std::this_thread::sleep_for(1ms);
}

void player::note_those_left() {
  std::lock_guard const guard(of_result_);
  if (!result_.still_there.empty()) return;
  int const started = std::min(started_.load(detail::seq_cst), scenario_goroutines_max);
  for (int i = 0; i < started; ++i) {
    actor const& each = actors_[static_cast<std::size_t>(i)];
    if (each.has_ended.load(detail::acquire)) continue;         // pairs with act
    statement const* const at = each.at.load(detail::acquire);  // pairs with perform_one
    std::string told = name_of(each);
    told += at == nullptr ? ", which has not begun" : text(", line %d: %s", at->at.line, at->text.c_str());
    result_.still_there.push_back(std::move(told));
  }
}

performance player::take() const {
  std::lock_guard const guard(of_result_);
  return result_;
}

}  // namespace thrum::command
