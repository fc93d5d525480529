// Accepts connections, a goroutine for each, and ends them without cutting a request off.
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

  // Until the listener is closed.
  void accept_from(thrum::tcp_listener& listener);

  // After the listener is closed: idle connections end now, the others with the answer to their request. False: some had not
  // ended within the time of grace.
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
