// The subscriptions of all clients: channels are found by name, patterns are checked one by one.
//
// One mutex protects everything, so all subscribers see the messages of all publishers in one order, as in Redis. No
// goroutine waits for a client while it holds the mutex, because outboxes only collect messages.
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
  // Puts the confirmation into the outbox before any message of the channel can get there.
  void subscribe(subscription kind, std::string const& name, outbox& who, std::string_view confirmation);
  void unsubscribe(subscription kind, std::string const& name, outbox& who);

  // Returns the number of receivers.
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
