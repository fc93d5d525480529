#include "hub.h"

#include "glob.h"
#include "replies.h"

#include <mutex>

namespace kv {

void hub::subscribe(subscription kind, std::string const& name, outbox& who, std::string_view confirmation) {
  std::lock_guard const guard(mutex_);
  who.post(confirmation);
  table_of(kind)[name].push_back(&who);
}

void hub::unsubscribe(subscription kind, std::string const& name, outbox& who) {
  std::lock_guard const guard(mutex_);
  table& all = table_of(kind);
  auto const found = all.find(name);
  if (found == all.end()) return;
  std::erase(found->second, &who);
  if (found->second.empty()) all.erase(found);
}

std::size_t hub::publish(std::string_view channel, std::string_view message) {
  std::lock_guard const guard(mutex_);
  std::size_t receivers = 0;
  if (auto const found = channels_.find(std::string(channel)); found != channels_.end()) {
    replies text;
    text.array(3);
    text.bulk("message");
    text.bulk(channel);
    text.bulk(message);
    for (outbox* const each : found->second) each->post(text.text());
    receivers += found->second.size();
  }
  for (auto const& [pattern, subscribers] : patterns_) {
    if (!matches(pattern, channel)) continue;
    replies text;
    text.array(4);
    text.bulk("pmessage");
    text.bulk(pattern);
    text.bulk(channel);
    text.bulk(message);
    for (outbox* const each : subscribers) each->post(text.text());
    receivers += subscribers.size();
  }
  return receivers;
}

}  // namespace kv
