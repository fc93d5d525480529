// The server: accepts clients, gives each a goroutine, and ends them all when it is told to.
#pragma once

#include "client.h"
#include "hub.h"
#include "store.h"
#include <thrum/chan.h>
#include <thrum/context.h>
#include <thrum/mutex.h>
#include <thrum/tcp.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <cstddef>
#include <unordered_set>
#include <variant>

namespace kv {

class server {
 public:
  // Serves until stop() is called: then requests that have come are still answered, and clients have a second to take the answers.
  void serve(thrum::tcp_listener& listener);
  void stop(thrum::tcp_listener& listener);

  // For whoever calls stop(): a client has asked for it. Never waits.
  thrum::chan<std::monostate> const stop_asked{1};

  // relaxed: who does not see it yet is woken by stop_reading
  [[nodiscard]] bool is_stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t client_count();

  store db;
  hub messages;
  std::atomic<int> waiting_clients{0};  // for lists to be filled; relaxed: only shown

 private:
  void serve_client(thrum::tcp_conn conn);
  void remove_old_keys(thrum::context const& until);

  std::atomic<bool> stopping_{false};
  thrum::mutex mutex_;
  std::unordered_set<client*> clients_;  // under the mutex
  thrum::wait_group running_;
};

}  // namespace kv
