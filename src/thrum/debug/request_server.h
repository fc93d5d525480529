// Serves requests from other processes on a Unix socket. docs/debug-socket.md has the protocol.
//
// One thread of its own serves all clients, so it works whatever the goroutines do: it needs no P, and it wakes no
// goroutine, so it does not hide a deadlock. It never waits for a client. Everything that a client can make it keep has
// a bound (limits).
//
// The owner makes the server, which begins to serve at once, and calls end(). A request that is being answered may take
// long: it may look names up, or wait for the loader's lock. Then the thread is left behind, and deletes the server
// when it comes to its end. What a request uses of the run has to be guarded by the handler.
#pragma once

#include "base/atomic.h"
#include "core/sched.h"
#include "os/note.h"
#include "os/private_socket.h"
#include "os/thread.h"

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
  std::string text;           // of an error: one line
  std::unique_ptr<job> work;  // if it is set, the answer is that of its finish()
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

class request_server {
 public:
  static constexpr std::size_t clients_max = 8;

  // Takes the descriptor of a socket that listens, and begins to serve. Returns nullptr and the errno, with the
  // descriptor closed, if the thread cannot be made.
  [[nodiscard]] static request_server* start(Sched& s, int listener, std::unique_ptr<request_handler> handler,
                                             server_limits const& limits, int& error);
  // After this no request is begun, and clients are disconnected. Waits for the request that is being answered for
  // `patience_ns` at most. The server is destroyed, or left to its thread.
  static void end(request_server* its, std::int64_t patience_ns) noexcept;

  // No request is begun from now on. Any thread, also in a signal handler.
  void ask_to_end() noexcept;
  // In a child of fork, which has none of the server's threads: closes its descriptors there.
  void close_descriptors_in_child() const noexcept;

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
  enum class stage : std::uint8_t { serves, has_ended, is_left };

  request_server(Sched& s, int listener, std::unique_ptr<request_handler> handler, server_limits const& limits);
  ~request_server();

  static void* thread_main(void* self);
  void serve();
  void wait_for_clients();
  void accept_clients();
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
  void drop_all() noexcept;
  [[nodiscard]] std::size_t number_of(client const& c) const noexcept {
    return static_cast<std::size_t>(&c - clients_.data());
  }
  [[nodiscard]] int kept(std::size_t where) const noexcept { return descriptors_[where].load(relaxed); }
  void keep(std::size_t where, int fd) noexcept { descriptors_[where].store(fd, relaxed); }
  void close_kept(std::size_t where) noexcept;

  Sched& sched_;
  std::unique_ptr<request_handler> const handler_;
  server_limits const limits_;
  os::thread thread_{};
  int tid_ = 0;
  os::note ended_;
  atomic<stage> at_{stage::serves};
  atomic<bool> is_to_end_{false};

  // Of the thread. All descriptors are here, because they are also read in a child of fork. The first ones are those of
  // the clients. For each client, one may have come with its next request, and one with the request that is its work.
  enum : std::size_t {
    passed_at = clients_max,
    of_work_at = passed_at + clients_max,
    listener_at = of_work_at + clients_max,
    wake_at,
    waker_at,
    descriptors_count
  };
  std::array<atomic<int>, descriptors_count> descriptors_;
  std::array<client, clients_max> clients_;
  std::vector<pollfd> polled_;
  std::int64_t accepts_from_ns_ = 0;  // the process had no descriptor left before
};

}  // namespace thrum::rt::debug
