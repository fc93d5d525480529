#include "blocking_pop.h"

#include "client.h"
#include "numbers.h"
#include "store.h"
#include <thrum/defer.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kv {
namespace {

using std::chrono::nanoseconds;

nanoseconds timeout_of(std::string_view text) {
  constexpr double seconds_max = 1e9;
  auto const seconds = parse_float(text);
  if (!seconds || *seconds > seconds_max) throw command_error("ERR timeout is not a float or out of range");
  if (*seconds < 0) throw command_error("ERR timeout is negative");
  if (*seconds == 0) return nanoseconds::max();  // forever
  return nanoseconds(std::llround(*seconds * 1e9));
}

std::optional<popped> pop_first(store::access& shards, std::vector<key> const& names, list_end end) {
  for (key const& name : names) {
    list* const found = shards.find_list(name);
    if (found == nullptr) continue;
    popped what{std::string(name.text), take(*found, end)};
    shards.settle_list(name);
    return what;
  }
  return std::nullopt;
}

std::optional<popped> pop_or_wait(call& c, std::vector<key> const& names, list_end end, nanoseconds timeout) {
  waiter self(end);
  bool is_queued = false;
  // If anything throws, `self` is removed from all queues too. Taking the locks also waits until a client that is
  // giving an element to `self` has finished.
  thrum::defer const leave_queues = [&] {
    if (!is_queued) return;
    auto shards = c.db.lock(names);
    for (key const& name : names) shards.remove_waiter(name, self);
  };
  {
    auto shards = c.db.lock(names);
    if (auto what = pop_first(shards, names, end)) return what;
    is_queued = true;
    for (key const& name : names) shards.add_waiter(name, self);
  }
  return c.from.wait_aside(self, timeout);
}

}  // namespace

void blocking_pop(call& c, list_end end) {
  nanoseconds const timeout = timeout_of(c.args.back());
  // Copies, because during the wait new bytes are read into the client's buffer.
  std::vector<std::string> const texts(c.args.begin() + 1, c.args.end() - 1);
  std::vector<key> const names(texts.begin(), texts.end());
  auto const what = pop_or_wait(c, names, end, timeout);
  if (!what && c.from.is_leaving()) return;
  if (!what) return c.reply.null_array();
  c.reply.array(2);
  c.reply.bulk(what->key);
  c.reply.bulk(what->element);
}

}  // namespace kv
