// The HTTP server of the live view. It has one thread (debug/server_thread.h), which polls and never waits for a
// client. docs/decisions/024 says why it does not run on goroutines.
//
// A connection is in one of these states, and each has a limit of time and of memory:
//
//   asks      the head of a request is awaited           idle_ns before its first byte, request_ns after it; 8 KiB
//   waits     a trace or a profile is being recorded     60 s; it ends at once when the client goes away
//   takes     an answer is being sent                    sending_ns for each 64 KiB of it; see unsent_max
//   watches   it gets the events of the machine          sending_ns for each event; one event
//   leaves    all is sent, and the client is to close    leaving_ns; nothing
//
// A client may send requests before it has the answers of earlier ones. In each turn of the thread, one request of each
// client is answered, so none waits longer than one request of each other client takes. The time of a request that was
// received during the answer of another one begins behind that answer.
//
// A picture of the machine is taken once for all viewers. A viewer that has not taken the last event does not get the
// next one. Taking pictures uses at most a fiftieth of the thread's time.
#pragma once

#include "boot/run_gate.h"
#include "core/sched.h"
#include "debug/server_thread.h"
#include "live/access.h"
#include "live/api.h"
#include "live/http_answer.h"
#include "os/private_socket.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace thrum::live {

struct server_limits {
  std::int64_t request_ns = 10'000'000'000;
  std::int64_t idle_ns = 60'000'000'000;
  std::int64_t sending_ns = 20'000'000'000;
  std::int64_t leaving_ns = 1'000'000'000;
  // A connection that waits for a request for so long gives way when there is no place for a new one.
  std::int64_t gives_way_ns = 1'000'000'000;
  std::int64_t event_ns = 100'000'000;  // between two pictures, at least
  // While answers of this size are being sent, no request that allocates one is begun.
  std::size_t unsent_max = std::size_t{16} << 20U;
};

class http_server final : public rt::debug::server_thread {
 public:
  static constexpr std::size_t connections_max = 64;
  static constexpr std::size_t viewers_max = 32;

  // Takes a socket that listens, and begins to serve. Returns nullptr and the errno if the thread cannot be made.
  [[nodiscard]] static http_server* start(rt::Sched& s, std::shared_ptr<rt::run_gate> gate, owned_descriptor listener,
                                          access_rules rules, server_limits const& limits, int& error);

 private:
  http_server(rt::Sched& s, std::shared_ptr<rt::run_gate> gate, owned_descriptor listener, access_rules rules,
              server_limits const& limits);
  enum class state : std::uint8_t { unused, asks, waits, takes, watches, leaves };
  struct connection {
    state is = state::unused;
    int fd = -1;
    std::string received;
    // Whether what was received may hold a whole request. One request of each client is read per turn.
    bool has_more_to_read = false;
    std::string to_send;   // the head of the answer, and its body if that is neither in `page` nor in `file`
    std::size_t sent = 0;  // of these, one after the other
    std::string_view page;
    owned_descriptor file;
    std::int64_t file_bytes = 0;
    std::int64_t file_sent = 0;
    std::int64_t since_ns = 0;  // when the state, or the part of the answer that is being taken, began
    std::size_t part_sent = 0;  // of that part
    std::unique_ptr<pending_answer> work;
    bool stays_open = false;
    bool is_for_head = false;  // the answer has no body, because it is that of a HEAD
    bool has_been_served = false;
    int procs_told = -1;  // a viewer: the number of Ps in the recording that it was sent; -1: none

    [[nodiscard]] bool has_all() const noexcept {
      return sent == to_send.size() + page.size() && file_sent == file_bytes;
    }
  };

  ~http_server() override { disconnect_all(); }
  void serve() override;
  void disconnect_all() noexcept override;
  void close_own_descriptors_in_child() const noexcept override { descriptors_.close_in_child(); }

  void wait_for_clients();
  [[nodiscard]] std::int64_t limit_of(connection const& c) const noexcept;
  void admit(owned_descriptor taken);
  [[nodiscard]] connection* place_for_client();
  void look_at(connection& c, short events);
  void receive_from(connection& c);
  void read_request(connection& c);
  void begin_answer(connection& c, http_request const& asked);
  void begin_to_watch(connection& c);
  void put_answer(connection& c, http_answer given);
  void send_to(connection& c);
  [[nodiscard]] static long send_part(connection& c);
  void has_sent_all(connection& c);
  static void enter(connection& c, state next) noexcept;
  void drop(connection& c) noexcept;
  void show_machine();
  [[nodiscard]] bool any_viewer_is_ready() const noexcept;
  [[nodiscard]] std::size_t unsent() const noexcept;

  rt::Sched& sched_;
  std::shared_ptr<rt::run_gate> const gate_;
  access_rules const rules_;
  server_limits const limits_;
  api api_;
  std::int64_t const began_ns_;

  rt::debug::server_descriptors<connections_max> descriptors_;
  std::array<connection, connections_max> connections_;
  std::vector<pollfd> polled_;
  std::int64_t shows_from_ns_ = 0;  // when the next picture may be taken
};

}  // namespace thrum::live
