#include "debug/cpu_profile.h"

#include "core/sched.h"
#include "debug/helper_thread.h"
#include "debug/profile_builder.h"
#include "os/clock.h"
#include "os/pause_signal.h"
#include "os/short_wait.h"
#include "os/thread_list.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace thrum::rt {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
// A buffer holds some hundred samples, and there are at most 1,000 a second.
constexpr std::int64_t round_ns = 50'000'000;
// From this number of different samples on, goroutines are told apart by the place of their creation only.
constexpr std::size_t different_max = 200'000;
constexpr std::size_t head_bytes = offsetof(cpu_sample, pcs);
// A look at so many threads takes less than a tenth of a round.
constexpr int threads_per_round = 1000;

// One profile at a time in a process, because the buffers are the process's. If a goroutine was stopped for good in the
// middle of start() or stop(), it stays so, and no further profile can be taken.
constinit atomic<bool> is_claimed{false};

void discard(sampled_thread& of_earlier_profile) noexcept {
  cpu_sample unused;
  while (of_earlier_profile.read(unused)) {
  }
  static_cast<void>(of_earlier_profile.take_lost());
}

}  // namespace

cpu_profile::~cpu_profile() {
  cpu_samples unused;
  static_cast<void>(stop(unused));
}

cpu_profile::start_result cpu_profile::start(int per_second) {
  auto expected = state::idle;
  // acquire pairs with the end of the last profile
  if (!state_.compare_exchange(expected, state::starting, acquire, relaxed)) return {outcome::already_on};
  if (is_claimed.exchange(true, acquire)) {  // pairs with the release below and in stop
    state_.store(state::idle, relaxed);
    return {outcome::already_on};
  }
  start_result result{outcome::failed, ENOMEM, "allocate memory"};
  try {
    result = begin(per_second);
  } catch (std::bad_alloc const&) {
    stop_timers();
  }
  if (result.how != outcome::done) is_claimed.store(false, release);
  // pairs with stop, or with the next start
  state_.store(result.how == outcome::done ? state::on : state::idle, release);
  return result;
}

// If goroutines are not preempted by signal, the signal is taken into use for the profile.
int cpu_profile::take_signal() noexcept {
  if (sched_.options.async_preemption || owns_signal_) return 0;
  int const error = os::install_pause_signal(sched_.options.preempt_signal, [](void const*) noexcept {});
  owns_signal_ = error == 0;
  return error;
}

cpu_profile::start_result cpu_profile::begin(int per_second) {
  if (int const error = take_signal()) return {outcome::failed, error, "install the handler of the signal"};
  take_samples_on_signal();
  taken_ = {};
  taken_.period_ns = second_ns / per_second;
  taken_.has_stacks = stacks_can_be_sampled();
  began_ns_ = os::monotonic_ns();
  random_ = random_source(static_cast<std::uint64_t>(began_ns_));
  asked_to_end_.clear();
  tid_ = 0;
  tids_.resize(os::sample_timers_max);
  was_on_.store(true, relaxed);
  for (watched& its : watched_) discard(*its.buffer);
  watch_threads();
  bool const any = std::any_of(watched_.begin(), watched_.end(), [](watched const& its) { return its.tid != 0; });
  if (!any) return {outcome::failed, taken_.timer_error != 0 ? taken_.timer_error : ENOENT, "make a timer"};
  if (int const error = make_helper_thread(sched_, thread_, thread_main, this)) {
    stop_timers();
    return {outcome::failed, error, "make a thread"};
  }
  std::uint32_t const number = number_.load(relaxed) + 1;  // relaxed: only the thread that starts writes it
  number_.store(number, relaxed);                          // published with the state
  return {.how = outcome::done, .number = number};
}

bool cpu_profile::stop(cpu_samples& taken, std::uint32_t number) {
  if (!begin_stop(number)) return false;
  join_helper_thread(sched_, thread_, tid_);
  end_stop(taken);
  return true;
}

// Not by pthread_join: thrum::posix_locks may stand behind it and park the goroutine that reports.
bool cpu_profile::stop_before_death(cpu_samples& taken, std::int64_t patience_ns) noexcept {
  if (!begin_stop(any_number)) return true;
  auto const has_ended = [&] { return os::join_thread_if_ended(thread_, tid_); };
  if (!os::wait_until(has_ended, os::monotonic_ns() + patience_ns)) return false;
  end_stop(taken);
  return true;
}

bool cpu_profile::begin_stop(std::uint32_t number) noexcept {
  auto expected = state::on;
  if (os::process_id() != process_) return false;  // a child of fork has no thread that collects
  if (!state_.compare_exchange(expected, state::stopping, acquire, relaxed)) return false;
  if (number != any_number && number != number_.load(relaxed)) {
    state_.store(state::on, release);
    return false;
  }
  asked_to_end_.wake();
  return true;
}

void cpu_profile::end_stop(cpu_samples& taken) noexcept {
  taken_.duration_ns = os::monotonic_ns() - began_ns_;
  taken = std::exchange(taken_, {});
  is_claimed.store(false, release);
  state_.store(state::idle, release);  // pairs with the next start
}

bool cpu_profile::may_leave_signals() const noexcept {
  return was_on_.load(relaxed) && os::may_end_program(sched_.options.preempt_signal);
}

void cpu_profile::let_go_of_signal() noexcept {
  if (!std::exchange(owns_signal_, false)) return;
  os::remove_pause_signal(may_leave_signals() ? os::still_sent::perhaps : os::still_sent::no);
}

void* cpu_profile::thread_main(void* self) {
  os::set_thread_name("thrum-profile");
  auto& me = *static_cast<cpu_profile*>(self);
  me.tid_ = os::current_tid();
  try {
    me.collect_until_stopped();
  } catch (std::bad_alloc const&) {
    me.stop_timers();  // the profile ends here
    me.taken_.lost_periods += 1;
    me.asked_to_end_.sleep();
  }
  return nullptr;
}

void cpu_profile::collect_until_stopped() {
  for (int round = 1; !asked_to_end_.sleep_for(round_ns); ++round) {
    if (round % (1 + threads_seen_ / threads_per_round) == 0) watch_threads();
    read_samples();
  }
  stop_timers();
  read_samples();
}

// Without thrum's handler of faults, broken unwind information would end the program.
void cpu_profile::watch_threads() {
  bool const walks = taken_.has_stacks && os::faults_are_caught();
  want_stacks(walks ? stacks_wanted::yes : stacks_wanted::no);
  int const count = os::list_process_threads(tids_.data(), static_cast<int>(tids_.size()));
  if (count < 0) return;
  threads_seen_ = count;
  auto const end = tids_.begin() + count;
  std::sort(tids_.begin(), end);
  for (watched& its : watched_) {
    if (its.tid == 0 || std::binary_search(tids_.begin(), end, its.tid)) continue;
    its.timer.stop();
    its.buffer->take_away();
    its.tid = 0;
  }
  std::vector<int> known;
  for (watched const& its : watched_) known.push_back(its.tid);
  std::sort(known.begin(), known.end());
  taken_.threads_left_out = 0;
  std::for_each(tids_.begin(), end, [&](int tid) {
    if (tid != tid_ && !std::binary_search(known.begin(), known.end(), tid)) watch(tid);
  });
}

// Returns the number of a timer that is free, or sample_timers_max.
std::size_t cpu_profile::free_one() {
  for (std::size_t n = 0; n < watched_.size(); ++n) {
    if (watched_[n].tid == 0 && watched_[n].buffer->is_at_rest()) return n;
  }
  std::size_t const n = watched_.size();
  if (n == os::sample_timers_max) return n;
  sampled_thread* const buffer = make_sampled_thread(n);
  if (buffer == nullptr) return os::sample_timers_max;
  watched_.emplace_back().buffer = buffer;
  discard(*buffer);
  return buffer->is_at_rest() ? n : os::sample_timers_max;
}

// The first period has a random length, so that the samples of threads that were found together do not come together.
void cpu_profile::watch(int tid) {
  std::size_t const n = free_one();
  int error = ENOMEM;
  if (n != os::sample_timers_max) {
    watched& its = watched_[n];
    read(its);  // of the thread that had the timer before
    its.buffer->give_to(tid);
    auto const first_ns = 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint32_t>(taken_.period_ns)));
    error = its.timer.start(sched_.options.preempt_signal, tid, n, {first_ns, taken_.period_ns});
    if (error == 0) {
      its.tid = tid;
      return;
    }
    its.buffer->take_away();
  }
  if (!os::thread_is_listed(tid)) return;  // it has ended meanwhile
  ++taken_.threads_left_out;
  taken_.timer_error = error;
}

void cpu_profile::stop_timers() noexcept {
  for (watched& its : watched_) its.timer.stop();
  for (watched& its : watched_) {
    its.buffer->take_away();
    its.tid = 0;
    for (os::short_wait wait; !its.buffer->is_at_rest();) wait.pause();
  }
}

void cpu_profile::read(watched& its) {
  cpu_sample found;
  while (its.buffer->read(found)) count(found);
  taken_.lost_periods += its.buffer->take_lost();
}

void cpu_profile::read_samples() {
  for (watched& its : watched_) read(its);
}

void cpu_profile::count(cpu_sample& found) {
  auto const periods = std::exchange(found.count, 0);
  taken_.broken_stacks += std::exchange(found.has_gone_wrong, false) ? 1 : 0;
  if (taken_.periods.size() >= different_max) {
    found.goroutine = 0;
    std::memset(found.name, 0, sizeof found.name);
    taken_.goroutines_are_grouped = true;
  }
  std::size_t const bytes = head_bytes + found.frames * sizeof(std::uintptr_t);
  taken_.periods[std::string(reinterpret_cast<char const*>(&found), bytes)] += periods;
}

namespace {

char const* name_of(sampled_in where) noexcept {
  switch (where) {
    case sampled_in::goroutine: return "";
    case sampled_in::runtime: return "scheduler";
    case sampled_in::foreign_thread: return "foreign";
  }
  return "";
}

void add_comments(cpu_samples const& taken, profile_builder& made) {
  if (!taken.has_stacks) made.add_comment("the stacks have one frame, because they cannot be walked in this program");
  if (taken.goroutines_are_grouped) made.add_comment("there were too many goroutines to tell all of them apart");
  if (taken.broken_stacks != 0)
    made.add_comment(std::to_string(taken.broken_stacks) + " stacks have one frame, because they could not be read");
  if (taken.threads_left_out != 0)
    made.add_comment(std::to_string(taken.threads_left_out) + " threads are missing, because the system has refused " +
                     "timers for them: " + std::strerror(taken.timer_error));
}

}  // namespace

std::string profile_of_cpu(cpu_samples const& taken, symbols& known) {
  profile_builder made(known, profile_builder::shown::where_they_run, {{"samples", "count"}, {"cpu", "nanoseconds"}});
  made.set_period({"cpu", "nanoseconds"}, taken.period_ns);
  made.set_duration_ns(taken.duration_ns);
  auto const values_of = [&](std::uint64_t periods) {
    auto const count = static_cast<std::int64_t>(periods);
    return std::array{count, count * taken.period_ns};
  };
  for (auto const& [bytes, periods] : taken.periods) {
    cpu_sample its;
    std::memcpy(&its, bytes.data(), bytes.size());
    std::string const id = its.goroutine != 0 ? std::to_string(its.goroutine) : std::string();
    made.add(std::span(its.pcs, its.frames), values_of(periods),
             {{"goroutine", id},
              {"name", its.name},
              {"created_at", made.site(its.created_at)},
              {"thread", name_of(its.where)}});
  }
  if (taken.lost_periods != 0) made.add_named("(samples lost)", values_of(taken.lost_periods));
  add_comments(taken, made);
  return made.finish();
}

}  // namespace thrum::rt
