// Serves requests from other processes on a Unix socket. docs/debug-socket.md has the protocol.
//
// One thread of its own serves all clients (debug/server_thread.h). It never waits for a client. Everything that a
// client can make it keep has a bound (limits). The handler guards what a request uses of the run.
#pragma once

#include "core/sched.h"
#include "debug/server_thread.h"
#include "os/private_socket.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace thrum::rt::debug {

struct answer;

// What a request has begun and that takes a while, such as a trace. It is destroyed when the client is gone, and then
// the descriptor that came with the request is closed.
class job {
 public:
  job() = default;
  virtual ~job() = default;
  job(job const&) = delete;
  job& operator=(job const&) = delete;

  std::int64_t ends_ns = 0;  // when finish() is to be called, on the monotonic clock
  [[nodiscard]] virtual answer finish() = 0;
};

struct answer {
  bool is_error = false;
  std::string text;               // of an error: one line
  std::unique_ptr<job> work;      // if it is set, the answer is that of its finish()
  bool keeps_descriptor = false;  // the one that came with the request, until the work is over
};
[[nodiscard]] answer error(std::string text);
[[nodiscard]] answer fine(std::string text);

// The number in a request. Returns `otherwise` if there is no text, and 0 if the text is no number from 1 to `most`.
[[nodiscard]] std::size_t number_in(std::string_view text, std::size_t otherwise, std::size_t most) noexcept;

struct request {
  std::string_view line;  // without the end of the line
  int descriptor = -1;    // came with the request; the server closes it, after the job if there is one
};

// Answers requests, on the server's thread. It may allocate, block the thread and throw; what() is the answer then.
class request_handler {
 public:
  request_handler() = default;
  virtual ~request_handler() = default;
  request_handler(request_handler const&) = delete;
  request_handler& operator=(request_handler const&) = delete;

  [[nodiscard]] virtual answer handle(request const& asked) = 0;
};

struct server_limits {
  std::size_t request_bytes = 1024;
  std::int64_t request_ns = 5'000'000'000;   // from the first byte of a request to its end
  std::int64_t idle_ns = 120'000'000'000;    // between two requests
  std::int64_t sending_ns = 10'000'000'000;  // in which the client takes nothing of its answer
};

class request_server final : public server_thread {
 public:
  static constexpr std::size_t clients_max = 8;

  // Takes the descriptor of a socket that listens, and begins to serve. Returns nullptr and the errno, with the
  // descriptor closed, if the thread cannot be made.
  [[nodiscard]] static request_server* start(Sched& s, int listener, std::unique_ptr<request_handler> handler,
                                             server_limits const& limits, int& error);

 private:
  struct client {
    int fd = -1;
    std::string received;
    // The answer is the first line and then the text, which may be long and is not copied for that.
    std::string first_line;
    std::string text;
    std::size_t sent = 0;       // of both together
    std::int64_t moved_ns = 0;  // when bytes were last received or sent, or an answer was complete
    std::unique_ptr<job> work;
    bool sends_no_more = false;
    bool ends_after_answer = false;

    [[nodiscard]] std::size_t unsent() const noexcept { return first_line.size() + text.size() - sent; }
    [[nodiscard]] std::string_view next_piece() const noexcept;
    [[nodiscard]] bool is_being_answered() const noexcept { return unsent() != 0; }
    [[nodiscard]] bool has_whole_request() const noexcept { return received.find('\n') != std::string::npos; }
  };

  request_server(Sched& s, int listener, std::unique_ptr<request_handler> handler, server_limits const& limits);
  ~request_server() override { disconnect_all(); }

  void serve() override;
  void disconnect_all() noexcept override;
  void close_own_descriptors_in_child() const noexcept override { descriptors_.close_in_child(); }
  void wait_for_clients();
  void admit(int fd);
  void look_at(client& c, short events);
  void receive_from(client& c);
  void send_to(client& c);
  void begin_request(client& c);
  void put_answer(client& c, answer given);
  void finish_work(client& c);
  void end_work(client& c) noexcept;
  void drop(client& c) noexcept;
  [[nodiscard]] std::int64_t limit_of(client const& c) const noexcept;
  [[nodiscard]] bool may_take_memory(client const& asking) const noexcept;
  [[nodiscard]] std::size_t number_of(client const& c) const noexcept {
    return static_cast<std::size_t>(&c - clients_.data());
  }

  std::unique_ptr<request_handler> const handler_;
  server_limits const limits_;

  // Of the thread. The first descriptors are those of the clients. For each client, one may have come with its next
  // request, and one with the request that is its work.
  enum : std::size_t {
    passed_at = clients_max,
    of_work_at = passed_at + clients_max,
    descriptors_count = of_work_at + clients_max
  };
  server_descriptors<descriptors_count> descriptors_;
  std::array<client, clients_max> clients_;
  std::vector<pollfd> polled_;
};

}  // namespace thrum::rt::debug
