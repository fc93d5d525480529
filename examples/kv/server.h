// The server: accepts clients, starts a goroutine for each, and ends them all when stop() is called.
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
  // Serves until stop() is called. Requests that have come by then are answered, and clients have a second to read the
  // answers.
  void serve(thrum::tcp_listener& listener);
  void stop(thrum::tcp_listener& listener);

  // Receives a value when a client has asked for the end of the server. The receiver then calls stop(). Sending never
  // waits.
  thrum::chan<std::monostate> const stop_asked{1};

  // relaxed, because a client that does not see the flag is woken by stop_reading
  [[nodiscard]] bool is_stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t client_count();

  store db;
  hub messages;
  // clients that wait for a list to be filled; relaxed, because it is only displayed
  std::atomic<int> waiting_clients{0};

 private:
  void serve_client(thrum::tcp_conn conn);
  void remove_old_keys(thrum::context const& until);

  std::atomic<bool> stopping_{false};
  thrum::mutex mutex_;
  std::unordered_set<client*> clients_;  // under the mutex
  thrum::wait_group running_;
};

}  // namespace kv
