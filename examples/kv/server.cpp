#include "server.h"

#include <thrum/defer.h>
#include <thrum/group.h>
#include <thrum/select.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace kv {
namespace {

using namespace std::chrono_literals;

constexpr auto silence_max = 300s;  // after this time TCP keep-alive checks the connection, as is the default in Redis
constexpr auto time_to_end = 1s;    // for clients that do not read their last replies
constexpr auto removing_every = 100ms;  // how often expired keys are removed, as in Redis

}  // namespace

void server::serve(thrum::tcp_listener& listener) {
  thrum::group background;
  thrum::defer const end_background = [&] { background.cancel(); };
  background.go([&] { remove_old_keys(background.context()); });
  for (;;) {
    std::error_code closed;
    auto conn = listener.accept(closed);
    if (closed) break;
    running_.add(1);
    thrum::go([this, conn = std::move(conn)]() mutable {
      serve_client(std::move(conn));
      running_.done();
    });
  }
  if (!running_.wait_for(time_to_end)) {
    std::lock_guard const guard(mutex_);
    for (client* const each : clients_) each->cut_off();
  }
  running_.wait();
}

void server::stop(thrum::tcp_listener& listener) {
  stopping_.store(true, std::memory_order_relaxed);
  listener.close();
  std::lock_guard const guard(mutex_);
  for (client* const each : clients_) each->stop_reading();
}

void server::serve_client(thrum::tcp_conn conn) {
  std::error_code not_possible;
  conn.set_keep_alive(silence_max, not_possible);
  client self(*this, std::move(conn));
  {
    std::lock_guard const guard(mutex_);
    clients_.insert(&self);
  }
  thrum::defer const forget = [&] {
    std::lock_guard const guard(mutex_);
    clients_.erase(&self);
  };
  try {
    self.serve();
  } catch (std::bad_alloc const&) {
    std::fprintf(stderr, "a client was cut off: it asked for more memory than there is\n");
  }
}

std::size_t server::client_count() {
  std::lock_guard const guard(mutex_);
  return clients_.size();
}

void server::remove_old_keys(thrum::context const& until) {
  while (!until.err()) {
    thrum::select(thrum::on_recv(until.done()), thrum::on_timeout(removing_every, [&] { db.expire_some(); }));
  }
}

}  // namespace kv
