// A client: its connection, and the goroutine that reads its requests and answers them.
//
// Requests that came together are answered together: the goroutine executes all requests that it has read, collects the
// replies in one buffer, and writes that when no complete request is left. So a pipeline of a hundred commands costs
// one read and one write. If a client does not read its replies, the write waits, and meanwhile no more requests are
// read from that client. Other clients are not affected.
#pragma once

#include "hub.h"
#include "outbox.h"
#include "replies.h"
#include "request_parser.h"
#include "waiter.h"
#include <thrum/tcp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace kv {

class server;

class client {
 public:
  client(server& on, thrum::tcp_conn conn) noexcept : on_(on), conn_(std::move(conn)) {}
  ~client();
  client(client const&) = delete;
  client& operator=(client const&) = delete;

  // Returns when the client has closed the connection, was cut off, or the server ends.
  void serve();

  // Any goroutine may call these. After stop_reading no further request is read, but those that were read are answered.
  // After cut_off nothing is answered.
  void stop_reading() noexcept;
  void cut_off() noexcept;

  // The following functions are for commands, on this client's own goroutine.

  // Ends the connection after the reply.
  void leave() noexcept { is_leaving_ = true; }
  [[nodiscard]] bool is_leaving() const noexcept { return is_leaving_; }

  // Waits until another client gives an element. Ends this client if its connection ends first.
  std::optional<popped> wait_aside(waiter& self, std::chrono::nanoseconds timeout);

  void subscribe(subscription kind, std::string const& to);
  void unsubscribe(subscription kind, std::string const& from);
  [[nodiscard]] std::set<std::string> const& subscriptions(subscription kind) const noexcept {
    return kind == subscription::channel ? channels_ : patterns_;
  }
  [[nodiscard]] std::int64_t subscription_count() const noexcept {
    return static_cast<std::int64_t>(channels_.size() + patterns_.size());
  }
  [[nodiscard]] bool is_subscriber() const noexcept { return subscription_count() != 0; }

  std::string name;

 private:
  [[nodiscard]] bool answer_all();
  [[nodiscard]] bool read_more();
  [[nodiscard]] bool flush();
  void part();
  void end_subscriptions();
  void confirm(replies& to, std::string_view what, std::string_view which) const;
  void watch(waiter& self) noexcept;
  [[nodiscard]] std::set<std::string>& names_of(subscription kind) noexcept {
    return kind == subscription::channel ? channels_ : patterns_;
  }

  server& on_;
  thrum::tcp_conn conn_;
  request_parser requests_;
  replies replies_;
  bool is_leaving_ = false;
  std::set<std::string> channels_;
  std::set<std::string> patterns_;
  // Exists from the first subscription on. Then everything is written through it, so that the order is kept.
  std::optional<outbox> outbox_;
};

}  // namespace kv
