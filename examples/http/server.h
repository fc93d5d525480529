// Accepts connections, starts a goroutine for each, and ends them without interrupting a request.
#pragma once

#include "connection.h"
#include "routes.h"
#include "settings.h"
#include <thrum/mutex.h>
#include <thrum/tcp.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <list>

namespace http {

class server {
 public:
  server(settings const& limits, site const& of) : limits_(limits), site_(of) {}

  // Returns when the listener is closed.
  void accept_from(thrum::tcp_listener& listener);

  // To be called after the listener is closed. Idle connections end at once, and the others after the answer to their
  // request. Returns false if some had not ended within the grace period.
  [[nodiscard]] bool finish();

 private:
  void serve(thrum::tcp_conn conn);

  settings const& limits_;
  site const& site_;
  std::atomic<bool> stopping_{false};
  thrum::wait_group connected_;
  thrum::mutex lock_;
  std::list<connection*> connections_;  // under lock_
};

}  // namespace http
