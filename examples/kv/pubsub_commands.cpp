#include "client.h"
#include "command.h"
#include "server.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>

namespace kv {
namespace {

void subscribe_to_all(call& c, subscription kind) {
  for (std::string_view const name : c.args.subspan(1)) c.from.subscribe(kind, std::string(name));
}
void subscribe(call& c) { subscribe_to_all(c, subscription::channel); }
void psubscribe(call& c) { subscribe_to_all(c, subscription::pattern); }

// Without names: unsubscribes from all. If there is no subscription, that is confirmed too.
void unsubscribe_from_all(call& c, subscription kind) {
  for (std::string_view const name : c.args.subspan(1)) c.from.unsubscribe(kind, std::string(name));
  if (c.args.size() > 1) return;
  auto const all = c.from.subscriptions(kind);  // a copy, because the set changes in the loop
  for (std::string const& name : all) c.from.unsubscribe(kind, name);
  if (!all.empty()) return;
  c.reply.array(3);
  c.reply.bulk(kind == subscription::channel ? "unsubscribe" : "punsubscribe");
  c.reply.null();
  c.reply.integer(c.from.subscription_count());
}
void unsubscribe(call& c) { unsubscribe_from_all(c, subscription::channel); }
void punsubscribe(call& c) { unsubscribe_from_all(c, subscription::pattern); }

void publish(call& c) { c.reply.integer(static_cast<std::int64_t>(c.on.messages.publish(c.args[1], c.args[2]))); }

constexpr std::array commands{
    command{"SUBSCRIBE", -2, subscribe, true},
    command{"UNSUBSCRIBE", -1, unsubscribe, true},
    command{"PSUBSCRIBE", -2, psubscribe, true},
    command{"PUNSUBSCRIBE", -1, punsubscribe, true},
    command{"PUBLISH", 3, publish},
};

}  // namespace

std::span<command const> pubsub_commands() { return commands; }

}  // namespace kv
