#include "server.h"

#include <thrum/defer.h>
#include <thrum/go.h>
#include <thrum/sleep.h>

#include <chrono>
#include <mutex>

namespace http {

void server::accept_from(thrum::tcp_listener& listener) {
  for (;;) {
    std::error_code error;
    auto conn = listener.accept(error);
    if (error == std::errc::operation_canceled) return;
    if (error) {  // an error of this one connection, or a resource that the system lacks
      thrum::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    connected_.add(1);
    thrum::go([this, accepted = std::move(conn)]() mutable {
      thrum::defer const counted = [this] { connected_.done(); };
      serve(std::move(accepted));
    });
  }
}

void server::serve(thrum::tcp_conn conn) {
  connection mine(std::move(conn), {limits_, site_, stopping_});
  std::unique_lock guard(lock_);
  auto const place = connections_.insert(connections_.end(), &mine);
  guard.unlock();
  thrum::defer const unlisted = [&] {
    std::scoped_lock const again(lock_);
    connections_.erase(place);
  };
  mine.serve();
}

bool server::finish() {
  stopping_.store(true);
  {
    std::scoped_lock const guard(lock_);
    for (connection* each : connections_) each->end_if_idle();
  }
  return connected_.wait_for(limits_.grace);
}

}  // namespace http
