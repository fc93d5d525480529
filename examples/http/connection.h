// One client, with its own goroutine, which reads requests and answers them in their order until either side ends the
// connection.
//
// All requests that came with one read are answered with one write. A deadline is set anew only after an eighth of its
// time, so that not every request has to set a timer.
#pragma once

#include "request_parser.h"
#include "response.h"
#include "routes.h"
#include "settings.h"
#include <thrum/tcp.h>

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>

namespace http {

// What connections know about their server.
struct surroundings {
  settings const& limits;
  http::site const& site;
  std::atomic<bool> const& stopping;
};

class connection {
 public:
  connection(thrum::tcp_conn conn, surroundings const& around) : conn_(std::move(conn)), around_(around) {}

  // Returns when the connection has ended.
  void serve();

  // May be called by any goroutine after `stopping` was set. Ends the connection if no request is under way.
  void end_if_idle() noexcept;

 private:
  enum class next : bool { go_on, stop };

  [[nodiscard]] next receive();
  [[nodiscard]] next admit();
  [[nodiscard]] next answer();
  [[nodiscard]] next send_file(file_part const& part);
  [[nodiscard]] next refuse(response const& how, method asked = method::unknown);
  [[nodiscard]] next flush();
  [[nodiscard]] response call(route const* chosen, request& asked);
  void renew_deadline(std::error_code& error) noexcept;
  void linger() noexcept;

  thrum::tcp_conn conn_;
  surroundings around_;
  request_parser parser_;
  date_text date_;
  std::string out_;  // answers that have not been sent
  std::chrono::milliseconds deadline_set_at_{-1'000'000'000};
  bool request_has_deadline_ = false;
  bool refused_ = false;
  std::atomic<bool> idle_{false};
};

}  // namespace http
