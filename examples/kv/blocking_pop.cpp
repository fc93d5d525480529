#include "blocking_pop.h"

#include "client.h"
#include "numbers.h"
#include "store.h"

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
  if (*seconds == 0) return nanoseconds::max();  // for ever
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

}  // namespace

void blocking_pop(call& c, list_end end) {
  nanoseconds const timeout = timeout_of(c.args.back());
  // Copies: while this waits the client's buffer is read to.
  std::vector<std::string> const texts(c.args.begin() + 1, c.args.end() - 1);
  std::vector<key> const names(texts.begin(), texts.end());
  waiter self(end);
  std::optional<popped> what;
  {
    auto shards = c.db.lock(names);
    what = pop_first(shards, names, end);
    if (!what) {
      for (key const& name : names) shards.add_waiter(name, self);
    }
  }
  if (!what) {
    what = c.from.wait_aside(self, timeout);
    auto shards = c.db.lock(names);  // also lets a giver leave `self`
    for (key const& name : names) shards.remove_waiter(name, self);
  }
  if (!what && c.from.is_leaving()) return;
  if (!what) return c.reply.null_array();
  c.reply.array(2);
  c.reply.bulk(what->key);
  c.reply.bulk(what->element);
}

}  // namespace kv
