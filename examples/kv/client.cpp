#include "client.h"

#include "command.h"
#include "server.h"
#include <thrum/defer.h>
#include <thrum/go.h>

#include <array>
#include <cstdint>
#include <new>
#include <system_error>

namespace kv {
namespace {

using namespace std::chrono_literals;

// When this many bytes of replies are collected, they are written before the next request is executed.
constexpr std::size_t flush_bytes = 64 * 1024;
constexpr std::size_t read_ahead_bytes_max = 64 * 1024 * 1024;  // while a client waits for other clients
constexpr auto time_to_part = 1s;

}  // namespace

client::~client() { end_subscriptions(); }

void client::end_subscriptions() {
  if (!outbox_) return;
  for (auto const kind : {subscription::channel, subscription::pattern}) {
    for (std::string const& each : names_of(kind)) on_.messages.unsubscribe(kind, each, *outbox_);
    names_of(kind).clear();
  }
  outbox_.reset();
}

void client::serve() {
  while (answer_all() && read_more()) {
  }
  if (flush() && is_leaving_) part();
}

// Returns false if the connection has to end.
bool client::answer_all() {
  while (!is_leaving_) {
    switch (requests_.next()) {
      case request_parser::outcome::incomplete: return flush();
      case request_parser::outcome::broken:
        replies_.error("ERR Protocol error: " + requests_.error());
        leave();
        break;
      case request_parser::outcome::request: {
        call c{requests_.arguments(), replies_, on_.db, *this, on_};
        execute(c);
        if (replies_.size() >= flush_bytes && !flush()) return false;
        break;
      }
    }
  }
  return false;
}

bool client::read_more() {
  if (on_.is_stopping()) return false;
  std::error_code failed;
  std::size_t const bytes = conn_.read_some(requests_.room(), failed);
  requests_.received(bytes);
  return bytes != 0;
}

// Returns false if the connection has failed.
bool client::flush() {
  if (replies_.size() == 0) return true;
  std::error_code failed;
  bool const sent = outbox_ ? outbox_->send(replies_.text()) : (conn_.write_all(replies_.text(), failed), !failed);
  replies_.clear();
  return sent;
}

// Reads until the client closes. Closing with unread bytes would reset the connection, and the client might never see
// the last reply.
void client::part() {
  end_subscriptions();
  std::error_code failed;
  conn_.shutdown_write(failed);
  conn_.set_read_deadline(time_to_part, failed);
  std::array<char, 4096> unread;
  while (conn_.read_some(unread, failed) != 0) {
  }
}

void client::stop_reading() noexcept {
  std::error_code closed;
  conn_.shutdown_read(closed);
}

void client::cut_off() noexcept {
  std::error_code was_closed;
  conn_.close(was_closed);
}

std::optional<popped> client::wait_aside(waiter& self, std::chrono::nanoseconds timeout) {
  if (!flush()) {
    leave();
    return std::nullopt;
  }
  auto watcher = thrum::spawn([&] { watch(self); });
  on_.waiting_clients.fetch_add(1, std::memory_order_relaxed);
  // Runs also if the wait throws, because the watcher uses `self`.
  thrum::defer const end_watching = [&] {
    on_.waiting_clients.fetch_sub(1, std::memory_order_relaxed);
    std::error_code closed;
    conn_.set_read_deadline(0s, closed);  // ends the watcher
    watcher.join();
    conn_.set_read_deadline(thrum::fd::no_deadline, closed);
  };
  return self.wait_for(timeout);
}

// Notices the end of a connection while the client's own goroutine waits for something else. Requests that the client
// sends meanwhile are kept for later. A client that sends too much, or more than there is memory for, is disconnected.
void client::watch(waiter& self) noexcept {
  try {
    std::error_code failed;
    while (requests_.waiting_bytes() <= read_ahead_bytes_max) {
      std::size_t const bytes = conn_.read_some(requests_.room(), failed);
      if (failed == std::errc::timed_out) return;
      if (bytes == 0) break;
      requests_.received(bytes);
    }
  } catch (std::bad_alloc const&) {
  }
  leave();
  if (self.claim()) self.cancel();
}

void client::subscribe(subscription kind, std::string const& to) {
  if (!flush()) return leave();
  if (!outbox_) outbox_.emplace(conn_);
  bool const is_new = names_of(kind).insert(to).second;
  replies confirmation;
  confirm(confirmation, kind == subscription::channel ? "subscribe" : "psubscribe", to);
  if (is_new) {
    on_.messages.subscribe(kind, to, *outbox_, confirmation.text());
  } else {
    outbox_->post(confirmation.text());
  }
}

void client::unsubscribe(subscription kind, std::string const& from) {
  if (names_of(kind).erase(from) != 0) on_.messages.unsubscribe(kind, from, *outbox_);
  confirm(replies_, kind == subscription::channel ? "unsubscribe" : "punsubscribe", from);
}

void client::confirm(replies& to, std::string_view what, std::string_view which) const {
  to.array(3);
  to.bulk(what);
  to.bulk(which);
  to.integer(subscription_count());
}

}  // namespace kv
