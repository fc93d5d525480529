// Delivers the program's signals over channels.
//
// The subscriptions belong to the process. Each run that has a subscriber has one goroutine, `serve`. It reads the
// eventfd to which the signal handler writes, and sends on the channels. It ends with the last subscription that was
// made in its run, because otherwise the runtime could not detect a deadlock of that run.
//
// Invariant: the signal_subscriptions's lock is held only inside the runtime, where the end of a run stops no
// goroutine. So no run leaves it locked. For that reason no code under it allocates, frees or sends. A subscription
// enters and leaves the map as a node.
#include "base/first_made.h"
#include "core/current.h"
#include "core/forked.h"
#include "core/sched.h"
#include "net/io_call.h"
#include "os/kernel.h"
#include "os/lock.h"
#include "os/pause_signal.h"
#include "os/signal_watch.h"
#include "sched/park.h"
#include <thrum/chan.h>
#include <thrum/fd.h>
#include <thrum/go.h>
#include <thrum/signals.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace thrum {
namespace {

using namespace rt;

struct subscriber {
  chan<int> to;
  std::uint64_t wants = 0;
  std::uint32_t epoch = 0;  // the run in which it subscribed
};
using subscribers = std::map<detail::channel const*, subscriber>;

std::uint64_t bit_of(int number) noexcept { return std::uint64_t{1} << static_cast<unsigned>(number); }

struct signal_subscriptions {
  os::lock lock{lock_rank::leaf};

  // under the lock
  subscribers all;
  std::array<int, os::watched_signal_max + 1> wanted_by{};
  std::uint32_t served_in = 0;      // the epoch of the run whose goroutine serves
  std::uint32_t counted_in = 0;     // the epoch of the run in which the latest subscription was made
  std::size_t count_in_latest = 0;  // the number of subscriptions that were made in that run
};

constinit first_made<signal_subscriptions> the_subscriptions;
constinit first_made<fd> the_eventfd;

detail::channel const* key_of(chan<int> const& c) noexcept { return c.channel_handle::core(); }

signal_subscriptions& subscriptions() {
  return the_subscriptions.get([] { return std::make_unique<signal_subscriptions>(); });
}

// Holds the lock of the subscriptions, on a goroutine or a foreign thread, inside the runtime. Between runs any thread
// may take the lock directly. A goroutine whose run is over sleeps here for good, because what it knows of runs and
// subscriptions does not hold in a later run.
class [[nodiscard]] locked_subscriptions {
 public:
  explicit locked_subscriptions(signal_subscriptions& b) noexcept : m_(callers_m()), subscriptions_(b) {
    if (m_ != nullptr) enter_runtime(*m_);
    subscriptions_.lock.acquire();
    // relaxed: the lock orders it after a later run's use
    if (m_ == nullptr || m_->sched.epoch == Sched::live_epoch.load(relaxed)) return;
    subscriptions_.lock.release();
    sleep_for_good(*m_);
  }
  ~locked_subscriptions() {
    subscriptions_.lock.release();
    if (m_ != nullptr) leave_runtime(*m_);
  }
  locked_subscriptions(locked_subscriptions const&) = delete;
  locked_subscriptions& operator=(locked_subscriptions const&) = delete;

  // 0 if no run is alive.
  [[nodiscard]] std::uint32_t epoch() const noexcept { return m_ == nullptr ? 0 : m_->sched.epoch; }

 private:
  M* const m_;
  signal_subscriptions& subscriptions_;
};

// Counts one subscriber less for each of these signals. Called under the lock.
void give_up(signal_subscriptions& b, std::uint64_t wants) noexcept {
  for (int number = 1; number <= os::watched_signal_max; ++number) {
    if ((wants & bit_of(number)) == 0) continue;
    if (--b.wanted_by[static_cast<std::size_t>(number)] == 0) os::unwatch_signal(number);
  }
}

// Puts `made` into the map and returns 0, or returns the errno. Called under the lock.
[[nodiscard]] int subscribe(signal_subscriptions& b, subscribers::node_type& made) noexcept {
  subscriber const& s = made.mapped();
  std::uint64_t watched = 0;
  for (int number = 1; number <= os::watched_signal_max; ++number) {
    if ((s.wants & bit_of(number)) == 0) continue;
    int& wanted_by = b.wanted_by[static_cast<std::size_t>(number)];
    if (int const failed = wanted_by == 0 ? os::watch_signal(number) : 0) {
      give_up(b, watched);
      return failed;
    }
    ++wanted_by;
    watched |= bit_of(number);
  }
  b.count_in_latest = b.counted_in == s.epoch ? b.count_in_latest + 1 : 1;
  b.counted_in = s.epoch;
  b.all.insert(std::move(made));
  return 0;
}

// The next subscriber in the map's order that wants one of these signals.
std::optional<chan<int>> next_to_tell(detail::channel const* after, std::uint64_t came, std::uint64_t& wants) noexcept {
  signal_subscriptions& b = subscriptions();
  locked_subscriptions const locked(b);
  for (auto each = b.all.upper_bound(after); each != b.all.end(); ++each) {
    wants = each->second.wants & came;
    if (wants != 0) return each->second.to;
  }
  return std::nullopt;
}

// Sends the signals to one subscriber. If the subscriber has closed its channel, the subscription ends.
void tell(chan<int> const& to, std::uint64_t which) {
  try {
    for (int number = 1; number <= os::watched_signal_max; ++number) {
      if ((which & bit_of(number)) != 0) static_cast<void>(to.try_send(number));
    }
  } catch (channel_closed const&) {
    stop_signals(to);
  }
}

void tell_all(std::uint64_t came) {
  std::optional<chan<int>> last;
  std::uint64_t wants = 0;
  // The channel of the last subscriber is kept until the next one is found. Otherwise a new channel could get its
  // address, and would be skipped.
  while (auto next = next_to_tell(last ? key_of(*last) : nullptr, came, wants)) {
    tell(*next, wants);
    last = std::move(next);
  }
}

// Returns true if the calling goroutine is the first of its run that serves. Any other one ends at once.
[[nodiscard]] bool begin_serving(signal_subscriptions& b, std::uint32_t epoch) noexcept {
  locked_subscriptions const locked(b);
  return std::exchange(b.served_in, epoch) != epoch;
}
// Returns false if a subscriber of this run is left.
[[nodiscard]] bool end_serving(signal_subscriptions& b, std::uint32_t epoch) noexcept {
  locked_subscriptions const locked(b);
  if (b.counted_in == epoch && b.count_in_latest != 0) return false;
  b.served_in = 0;
  return true;
}

void serve(fd& eventfd, std::uint32_t epoch) {
  signal_subscriptions& b = subscriptions();
  if (!begin_serving(b, epoch)) return;
  while (!end_serving(b, epoch)) {
    std::uint64_t count = 0;
    std::error_code error;
    eventfd.read_some({&count, sizeof count}, error);
    if (error) return;  // does not happen, because the eventfd is never closed and has no deadline
    tell_all(os::take_noted_signals());
  }
}

fd* signal_eventfd(std::error_code& error) {
  fd* const found = the_eventfd.get_if_made();
  if (found != nullptr) return found;
  int const descriptor = os::make_signal_eventfd();
  if (descriptor < 0) {
    error = system_error_of(-descriptor);
    return nullptr;
  }
  auto mine = std::make_unique<fd>(descriptor, error);
  if (error) {
    os::kernel::close(descriptor);
    return nullptr;
  }
  return &the_eventfd.publish(std::move(mine));
}

// True for signals that the runtime itself needs. These are the faults, by which it detects stack overflows, and the
// preemption signal. The preemption signal of an earlier run counts too, if that run has left a goroutine computing.
bool is_ours(M const& m, int number) noexcept {
  return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
         os::pause_signal_is_kept(number) ||
         (m.sched.options.async_preemption && number == m.sched.options.preempt_signal);
}

}  // namespace

chan<int> signals(std::initializer_list<int> numbers, std::error_code& error) {
  constexpr std::size_t capacity = 16;
  M const* const m = callers_m();
  if (m == nullptr) throw std::logic_error(std::string("thrum: signals needs a runtime, but ") + why_no_runtime());
  error.clear();
  std::uint64_t wants = 0;
  for (int const number : numbers) {
    if (number < 1 || number > os::watched_signal_max || is_ours(*m, number))
      error = system_error_of(EINVAL);
    else
      wants |= bit_of(number);
  }
  if (wants == 0) error = system_error_of(EINVAL);
  if (error) return nullptr;
  fd* const eventfd = signal_eventfd(error);
  if (error) return nullptr;
  os::set_signal_eventfd(eventfd->native_handle());

  signal_subscriptions& b = subscriptions();
  chan<int> to(capacity);
  subscribers made;
  made.emplace(key_of(to), subscriber{to, wants});
  auto node = made.extract(made.begin());
  bool is_served = false;
  std::uint32_t epoch = 0;  // read under the lock, because a foreign thread may see one run end and another begin
  {
    locked_subscriptions const locked(b);
    epoch = node.mapped().epoch = locked.epoch();
    if (int const failed = subscribe(b, node)) error = system_error_of(failed);
    is_served = epoch != 0 && b.served_in == epoch;
  }
  if (error) return nullptr;
  if (is_served) return to;
  try {
    go([eventfd, epoch] { serve(*eventfd, epoch); });
  } catch (...) {
    stop_signals(to);
    throw;
  }
  return to;
}

void stop_signals(chan<int> const& subscribed) {
  signal_subscriptions& b = subscriptions();
  subscribers::node_type removed;  // destroyed outside the runtime
  bool is_last = false;
  {
    locked_subscriptions const locked(b);
    auto const found = b.all.find(key_of(subscribed));
    if (found == b.all.end()) return;
    removed = b.all.extract(found);
    subscriber const& s = removed.mapped();
    give_up(b, s.wants);
    is_last = s.epoch == b.counted_in && --b.count_in_latest == 0;
  }
  if (is_last) os::notify_signal_goroutine();  // wakes the goroutine that serves, so that it ends
}

}  // namespace thrum
