// Who has subscribed to what: channels by their names, patterns one by one.
//
// One mutex: all subscribers see the messages of all publishers in one order, as in Redis. Nobody waits for a client under it, since
// outboxes only gather.
#pragma once

#include "outbox.h"
#include <thrum/mutex.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kv {

enum class subscription : bool { channel, pattern };

class hub {
 public:
  // The confirmation is put into the outbox first, before any message of the channel can be.
  void subscribe(subscription kind, std::string const& name, outbox& who, std::string_view confirmation);
  void unsubscribe(subscription kind, std::string const& name, outbox& who);

  // To how many it went.
  std::size_t publish(std::string_view channel, std::string_view message);

 private:
  using table = std::unordered_map<std::string, std::vector<outbox*>>;
  [[nodiscard]] table& table_of(subscription kind) noexcept {
    return kind == subscription::channel ? channels_ : patterns_;
  }

  thrum::mutex mutex_;
  // under the mutex
  table channels_;
  table patterns_;
};

}  // namespace kv
