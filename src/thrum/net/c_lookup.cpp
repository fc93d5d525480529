#include "net/c_lookup.h"

#include "core/current.h"
#include "core/sched.h"
#include "net/address.h"
#include "net/connect.h"
#include "net/io_call.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/lock.h"
#include "os/note.h"
#include "os/process.h"
#include "sched/park.h"
#include <thrum/blocking.h>
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include <netdb.h>
#include <sys/socket.h>

namespace thrum::rt {
namespace {

struct answer {
  addrinfo* first = nullptr;
  answer() noexcept = default;
  answer(answer const&) = delete;
  answer& operator=(answer const&) = delete;
  ~answer() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

struct lookup {
  std::string name;
  std::uint16_t port;
  std::vector<endpoint> found{};
  std::error_code error{};

  // Runs on a goroutine or on any other thread.
  void perform() {
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;  // otherwise getaddrinfo returns each address once per socket type
    answer all;
    // errno is read inside the call, because the goroutine may be on another thread afterwards.
    int system_error = 0;
    int const failed = blocking(
        [&] {
          int const code = ::getaddrinfo(name.c_str(), nullptr, &wanted, &all.first);
          if (code == EAI_SYSTEM) system_error = errno;
          return code;
        },
        blocking_hint::long_call);
    if (failed != 0) {
      error = failed == EAI_SYSTEM ? system_error_of(system_error) : std::error_code(failed, resolve_category());
      return;
    }
    for (addrinfo const* one = all.first; one != nullptr; one = one->ai_next) {
      add_address(found, one->ai_addr, one->ai_addrlen, port);
    }
    if (found.empty()) error = std::error_code(EAI_NONAME, resolve_category());
  }

  // The same for goroutines and threads in which no caller could catch an exception.
  void perform_alone() noexcept {
    try {
      perform();
    } catch (std::exception const&) {  // no memory
      found.clear();
      error = std::error_code(EAI_MEMORY, resolve_category());
    }
  }
};

// Limits the number of lookups that run at a time. The lock is held only inside the runtime, where the end of a run
// stops no goroutine. The first caller of a run resets what the last run has left here, because the goroutines of that
// run do not continue.
//
// Turns are in the order in which the callers came, also if options::max_threads is raised meanwhile. A place that
// becomes free is given to the first waiter under the lock. A caller that comes while others wait enters the queue
// behind them, even if a place is free.
class lookup_limit {
 public:
  // Waits for a turn, on a goroutine. Returns false if the time was over first.
  [[nodiscard]] bool enter_by(std::int64_t until_ns) {
    if (enter_or_queue(nullptr)) return true;
    waiter mine;
    if (enter_or_queue(&mine)) return true;
    admit_waiting();  // there may be free places, for this caller or for those before it
    try {
      if (receive_by(mine.turn, until_ns)) return true;
    } catch (...) {  // there is no memory for the timer
      if (!leave_queue(mine)) leave();
      throw;
    }
    return !leave_queue(mine);  // the turn may have been given to it after the timeout
  }

  void leave() noexcept {
    {
      locked const l(*this);
      if (in_use_ == 0) return;
      --in_use_;
    }
    admit_waiting();
  }

  // Returns false if the time was over first.
  [[nodiscard]] static bool receive_by(chan<std::monostate> const& from, std::int64_t until_ns) {
    if (until_ns == never_poll) return from.recv().has_value();
    bool has_come = false;
    std::int64_t const left_ns = std::max<std::int64_t>(until_ns - os::monotonic_ns(), 0);
    select(on_recv(from, [&](auto) { has_come = true; }), on_timeout(std::chrono::nanoseconds(left_ns)));
    return has_come;
  }

 private:
  // It lies on the stack of the goroutine that waits.
  struct waiter {
    chan<std::monostate> turn{1};
    bool is_queued = false;
    waiter* next = nullptr;
    waiter* previous = nullptr;
  };

  class [[nodiscard]] locked {
   public:
    explicit locked(lookup_limit& of) noexcept : m_(*callers_m()), of_(of) {
      rt::enter_runtime(m_);
      of_.lock_.acquire();
      std::uint32_t const epoch = m_.sched.epoch;
      if (epoch != Sched::live_epoch.load(relaxed)) {  // relaxed: the lock orders it after a later run's use
        of_.lock_.release();
        sleep_for_good(m_);  // the run of this goroutine is over
      }
      if (std::exchange(of_.epoch_, epoch) == epoch) return;
      of_.in_use_ = 0;
      of_.first_ = of_.last_ = nullptr;
    }
    ~locked() {
      of_.lock_.release();
      rt::leave_runtime(m_);
    }
    locked(locked const&) = delete;
    locked& operator=(locked const&) = delete;

    [[nodiscard]] int places() const noexcept {
      int const threads_max = m_.sched.pauses.threads_max();
      return std::clamp(threads_max / 4, 1, lookups_max);
    }

   private:
    M& m_;
    lookup_limit& of_;
  };

  // Returns true if the caller has its turn. Otherwise it puts `mine` into the queue, unless that is null.
  [[nodiscard]] bool enter_or_queue(waiter* mine) noexcept {
    locked const l(*this);
    if (first_ == nullptr && in_use_ < l.places()) {
      ++in_use_;
      return true;
    }
    if (mine == nullptr) return false;
    mine->is_queued = true;
    mine->previous = std::exchange(last_, mine);
    (mine->previous != nullptr ? mine->previous->next : first_) = mine;
    return false;
  }

  // Gives the free places to the first waiters.
  void admit_waiting() noexcept {
    for (;;) {
      chan<std::monostate> next(nullptr);
      {
        locked const l(*this);
        if (first_ == nullptr || in_use_ >= l.places()) return;
        ++in_use_;
        next = first_->turn;
        unlink(*first_);
      }
      static_cast<void>(next.try_send({}));  // the buffer has space, and the element needs no memory
    }
  }

  // Removes the waiter from the queue. Returns false if it is not there.
  [[nodiscard]] bool leave_queue(waiter& mine) noexcept {
    locked const l(*this);
    if (!mine.is_queued) return false;
    unlink(mine);
    return true;
  }

  void unlink(waiter& w) noexcept {
    w.is_queued = false;
    (w.previous != nullptr ? w.previous->next : first_) = w.next;
    (w.next != nullptr ? w.next->previous : last_) = w.previous;
  }

  os::lock lock_{lock_rank::leaf};
  // under the lock
  std::uint32_t epoch_ = 0;
  int in_use_ = 0;
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};
constinit lookup_limit turns;

class [[nodiscard]] kept_turn {
 public:
  kept_turn() noexcept = default;
  ~kept_turn() { turns.leave(); }
  kept_turn(kept_turn const&) = delete;
  kept_turn& operator=(kept_turn const&) = delete;
};

struct late_lookup : lookup {
  late_lookup(std::string of, std::uint16_t at) : lookup{std::move(of), at} {}
  chan<std::monostate> done{1};
};

void on_goroutine(lookup& its, std::int64_t until_ns) {
  if (!turns.enter_by(until_ns)) {
    its.error = std::make_error_code(std::errc::timed_out);
    return;
  }
  if (until_ns == never_poll) {
    kept_turn const turn;
    its.perform();
    return;
  }
  std::shared_ptr<late_lookup> shared;
  try {
    shared = std::make_shared<late_lookup>(its.name, its.port);
    go([shared] {
      {
        kept_turn const turn;
        shared->perform_alone();
      }
      shared->done.send({});
    });
  } catch (...) {
    turns.leave();
    throw;
  }
  if (lookup_limit::receive_by(shared->done, until_ns)) {
    its.found = std::move(shared->found);
    its.error = shared->error;
  } else {
    its.error = std::make_error_code(std::errc::timed_out);
  }
}

// Limits the number of threads that are made for lookups, in the process. Foreign threads take places, and the threads
// that are made for them give the places back. The order is that of the kernel's futex, and a caller that has just come
// may be before those that wait.
class thread_limit {
 public:
  // Waits for a place, on a foreign thread. Returns false if the time was over first.
  [[nodiscard]] bool enter_by(std::int64_t until_ns) noexcept {
    watch_forks();
    std::uint32_t seen = in_use_.load(relaxed);
    for (;;) {
      if (seen < lookups_max) {
        // acquire, release: the usual pair of a semaphore, although the places protect no data
        if (in_use_.compare_exchange_weak(seen, seen + 1, acquire, relaxed)) return true;
        continue;
      }
      // seq_cst: either leave() sees the waiter, or the kernel sees what leave() has written
      waiters_.fetch_add(1, seq_cst);
      os::wait_result const how = os::futex_wait_until(in_use_, seen, until_ns);
      waiters_.fetch_sub(1, relaxed);
      seen = in_use_.load(relaxed);
      if (how == os::wait_result::timed_out && seen >= lookups_max) return false;
    }
  }

  void leave() noexcept {
    in_use_.fetch_sub(1, seq_cst);  // pairs with enter_by
    if (waiters_.load(seq_cst) != 0) os::futex_wake(in_use_, 1);
  }

 private:
  // A child of fork has neither the threads nor the waiters. If there is no memory for the entry, they keep their
  // places in the child.
  static void watch_forks() noexcept;

  atomic<std::uint32_t> in_use_{0};
  atomic<std::uint32_t> waiters_{0};
};
constinit thread_limit threads;

void thread_limit::watch_forks() noexcept {
  static constinit atomic<bool> is_done{false};
  if (is_done.exchange(true, relaxed)) return;  // relaxed: the C library orders the entry
  static_cast<void>(os::call_in_children_of_fork([]() noexcept {
    threads.in_use_.store(0, relaxed);  // relaxed: the child has one thread
    threads.waiters_.store(0, relaxed);
  }));
}

// Shared by a thread that is made for the lookup and the caller, which may return before the lookup ends.
struct threads_lookup : lookup {
  threads_lookup(std::string of, std::uint16_t at) : lookup{std::move(of), at} {}
  os::note done;
};

void on_thread(lookup& its, std::int64_t until_ns) {
  if (until_ns == never_poll) return its.perform();
  auto const shared = std::make_shared<threads_lookup>(its.name, its.port);
  if (!threads.enter_by(until_ns)) {
    its.error = std::make_error_code(std::errc::timed_out);
    return;
  }
  try {
    std::thread([shared] {
      shared->perform_alone();
      threads.leave();
      shared->done.wake();
    }).detach();
  } catch (std::system_error const& refused) {  // the system refuses a new thread
    threads.leave();
    its.error = refused.code();
    return;
  } catch (...) {  // no memory
    threads.leave();
    throw;
  }
  if (shared->done.sleep_until(until_ns)) {
    its.found = std::move(shared->found);
    its.error = shared->error;
  } else {
    its.error = std::make_error_code(std::errc::timed_out);
  }
}

}  // namespace

lookup_turn::lookup_turn() noexcept {
  try {
    has_ = turns.enter_by(never_poll);
  } catch (...) {  // there is no memory to wait
    has_ = false;
  }
}

lookup_turn::~lookup_turn() {
  if (has_) turns.leave();
}

std::vector<endpoint> look_up_by_c_library(std::string const& name, std::uint16_t port, std::int64_t until_ns,
                                           std::error_code& error) {
  lookup its{name, port};
  M const* const m = callers_m();
  if (m != nullptr && !m->is_foreign) {
    on_goroutine(its, until_ns);
  } else {
    on_thread(its, until_ns);
  }
  error = its.error;
  return std::move(its.found);
}

}  // namespace thrum::rt
