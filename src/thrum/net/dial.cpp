// Dialling a name, according to RFC 8305 as Go implements it.
//
// The addresses of the family that the lookup returned first are tried one after another. The addresses of the other
// family are tried by a second goroutine, which starts 300 ms later, or as soon as the first family has failed. The
// first connection wins, and all others are closed.
#include "net/address.h"
#include "net/connect.h"
#include "net/io_call.h"
#include "net/resolve.h"
#include "os/clock.h"
#include "os/socket.h"
#include "wait/poll_close.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/select.h>
#include <thrum/tcp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace thrum {
namespace {

using namespace rt;
using namespace std::chrono_literals;

constexpr auto head_start = 300ms;                    // Go's value
constexpr std::int64_t share_min_ns = 2'000'000'000;  // Go's value: what one address gets at least

struct dropping {
  void operator()(poll_desc* d) const noexcept { drop_poll_desc(*d); }
};
using owned_desc = std::unique_ptr<poll_desc, dropping>;

struct result {
  owned_desc connected;  // closed by the destructor unless dial_both takes it
  std::error_code error;
};

// The state that the goroutines of the two families share; each family is a lane, 0 or 1. An exception in these
// goroutines could not be reported to a caller, so the functions here do not allocate. That is why the lock is taken by
// try_lock and yield: waiting in the mutex's queue may allocate. The lock is held only for a moment.
struct dial_race {
  mutex lock;
  bool is_over = false;
  std::array<poll_desc*, 2> under_way{};
  std::array<result, 2> results{};  // written by the goroutine of its lane, until that has sent its number over `ended`

  std::unique_lock<mutex> locked() {
    std::unique_lock guard(lock, std::try_to_lock);
    while (!guard.owns_lock()) {
      yield();
      static_cast<void>(guard.try_lock());
    }
    return guard;
  }
  // Records the connection attempt of this lane. Returns false if the other family has won.
  bool enter(std::size_t lane, poll_desc* d) {
    auto const guard = locked();
    if (!is_over) under_way[lane] = d;
    return !is_over;
  }
  // Ends the attempt of this lane. Returns true if its connection wins. It then closes the attempt of the other lane.
  bool leave(std::size_t lane, bool connected) {
    auto const guard = locked();
    under_way[lane] = nullptr;
    if (is_over || !connected) return false;
    is_over = true;
    if (poll_desc* const other = under_way[1 - lane]) static_cast<void>(close_poll_desc(*other));
    return true;
  }
};

// The moment by which one address has to be connected, if `left` addresses share the time until `until_ns`.
std::int64_t share_of(std::int64_t until_ns, std::size_t left) noexcept {
  if (until_ns == never_poll) return never_poll;
  std::int64_t const now_ns = os::monotonic_ns();
  std::int64_t const share = std::max((until_ns - now_ns) / static_cast<std::int64_t>(left), share_min_ns);
  return std::min(until_ns, now_ns + share);
}

poll_desc* dial_one(endpoint const& to, std::int64_t until_ns, dial_race* race, std::size_t lane,
                    std::error_code& error) {
  if (race == nullptr) return open_connected(SOCK_STREAM, to, until_ns, error);
  bool is_done = false;
  owned_desc d(begin_connect(SOCK_STREAM, to, is_done, error));
  if (d == nullptr) return nullptr;
  bool won = false;
  if (race->enter(lane, d.get())) {
    try {
      if (!is_done) end_connect(d.get(), until_ns, error);
    } catch (std::bad_alloc const&) {
      error = std::make_error_code(std::errc::not_enough_memory);
    }
    won = race->leave(lane, !error);
  }
  if (won) return d.release();
  if (!error) error = error_of(poll_outcome::closed);
  return nullptr;
}

// Tries the addresses one after another. Reports the first error, because later addresses are often of a kind that this
// machine cannot reach at all.
poll_desc* dial_all(std::vector<endpoint> const& to, std::int64_t until_ns, dial_race* race, std::size_t lane,
                    std::error_code& error) {
  std::error_code first;
  for (std::size_t i = 0; i < to.size(); ++i) {
    poll_desc* const d = dial_one(to[i], share_of(until_ns, to.size() - i), race, lane, error);
    if (d != nullptr) return d;
    if (!first) first = error;
    if (error == std::errc::operation_canceled || os::monotonic_ns() >= until_ns) break;
  }
  error = first;
  return nullptr;
}

// Runs both lanes. A lane that has ended sends its number over `ended`. The channel's buffer has space for both
// numbers, and its elements need no memory, so the send neither waits nor allocates.
poll_desc* dial_both(std::vector<endpoint> first, std::vector<endpoint> second, std::int64_t until_ns,
                     std::error_code& error) {
  auto const race = std::make_shared<dial_race>();
  chan<std::size_t> ended(2);
  auto const start = [&](std::vector<endpoint> to, std::size_t lane) {
    go([=, to = std::move(to)] {
      result& mine = race->results[lane];
      try {
        mine.connected.reset(dial_all(to, until_ns, race.get(), lane, mine.error));
      } catch (std::bad_alloc const&) {
        mine.error = std::make_error_code(std::errc::not_enough_memory);
      }
      ended.send(lane);
    });
  };
  start(std::move(first), 0);
  bool is_early = false;
  select(on_recv(ended, [&](auto) { is_early = true; }), on_timeout(head_start));
  if (is_early && race->results[0].connected != nullptr) return race->results[0].connected.release();
  start(std::move(second), 1);
  if (is_early) error = race->results[0].error;
  for (int left = is_early ? 1 : 2; left > 0; --left) {
    result& next = race->results[*ended.recv()];
    if (next.connected != nullptr) {
      error.clear();
      return next.connected.release();
    }
    if (!error) error = next.error;
  }
  return nullptr;
}

}  // namespace

tcp_conn tcp_conn::dial(std::string_view address, std::chrono::nanoseconds timeout, std::error_code& error) {
  tcp_conn made;
  std::int64_t const until_ns = moment_after(timeout.count());
  std::vector<endpoint> first = resolve_to_dial(address, until_ns, error);
  if (error) return made;
  auto const is_other = [family = first.front().family()](endpoint const& e) { return e.family() != family; };
  std::vector<endpoint> second;
  std::copy_if(first.begin(), first.end(), std::back_inserter(second), is_other);
  std::erase_if(first, is_other);
  if (second.empty()) {
    made.desc_ = dial_all(first, until_ns, nullptr, 0, error);
  } else {
    made.desc_ = dial_both(std::move(first), std::move(second), until_ns, error);
  }
  if (made.desc_ != nullptr) error.clear();
  return made;
}

}  // namespace thrum
