#include "live/http_server.h"

#include "live/machine_picture.h"
#include "os/clock.h"
#include "os/socket.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

namespace thrum::live {
namespace {

using rt::never_ns;

constexpr std::size_t part_bytes = std::size_t{64} * 1024;
// A picture that took so long is followed by a pause of fifty times that.
constexpr std::int64_t pause_per_picture = 50;

template <class F>
http_answer answer_or_error(F ask) {
  try {
    return ask();
  } catch (std::bad_alloc const&) {
    throw;
  } catch (std::exception const& failure) {
    return error_answer(500, failure.what());
  }
}

}  // namespace

http_server* http_server::start(rt::Sched& s, std::shared_ptr<rt::run_gate> gate, owned_descriptor listener,
                                access_rules rules, server_limits const& limits, int& error) {
  std::unique_ptr<server_thread> made(
      new http_server(s, std::move(gate), std::move(listener), std::move(rules), limits));
  if (!made->server_thread::start(error)) return nullptr;
  return static_cast<http_server*>(made.release());
}

http_server::http_server(rt::Sched& s, std::shared_ptr<rt::run_gate> gate, owned_descriptor listener,
                         access_rules rules, server_limits const& limits)
    : server_thread(s, "thrum-live", listener.release()),
      sched_(s),
      gate_(std::move(gate)),
      rules_(std::move(rules)),
      limits_(limits),
      api_(s, gate_),
      began_ns_(rt::os::monotonic_ns()) {
  polled_.reserve(connections_max + 2);
}

void http_server::serve() {
  while (!is_to_end()) {
    wait_for_clients();
    if (is_to_end()) return;
    for (std::size_t i = 0; i < connections_max; ++i) {
      if (connections_[i].is == state::unused) continue;
      if (is_to_end()) return;
      try {
        look_at(connections_[i], polled_[i].revents);
      } catch (std::bad_alloc const&) {
        drop(connections_[i]);  // there is no memory for what it sends, or for its answer
      }
    }
    show_machine();
    take_clients(polled_[connections_max].revents, connections_max, [this](int fd) {
      try {
        admit(owned_descriptor(fd));
      } catch (std::bad_alloc const&) {  // there is no memory to say why it is refused, so it is only disconnected
      }
    });
  }
}

void http_server::wait_for_clients() {
  std::int64_t const now_ns = rt::os::monotonic_ns();
  std::int64_t until_ns = accepts_from_ns(now_ns);
  if (any_viewer_is_ready()) until_ns = std::min(until_ns, shows_from_ns_);
  polled_.assign(connections_max, pollfd{-1, 0, 0});
  for (std::size_t i = 0; i < connections_max; ++i) {
    connection const& c = connections_[i];
    if (c.is == state::unused) continue;
    bool const sends = c.is == state::takes || (c.is == state::watches && !c.has_all());
    bool const reads = c.is == state::asks && c.has_more_to_read;  // the client may send no more, and is answered
    bool const receives = (c.is == state::asks && !reads) || c.is == state::leaves;
    polled_[i] = {c.fd, static_cast<short>(sends ? POLLOUT : receives ? POLLIN : reads ? 0 : POLLRDHUP), 0};
    until_ns = std::min(until_ns, reads ? now_ns : limit_of(c));
  }
  polled_.push_back(listener_to_poll(now_ns));
  polled_.push_back(end_to_poll());
  std::int64_t const timeout_ns = until_ns == never_ns ? -1 : std::max<std::int64_t>(until_ns - now_ns, 0);
  if (rt::os::wait_for_any(polled_, timeout_ns) > 0) return;
  for (pollfd& one : polled_) one.revents = 0;
}

// When something has to be done for the connection although its client does nothing.
std::int64_t http_server::limit_of(connection const& c) const noexcept {
  switch (c.is) {
    case state::unused: break;
    case state::asks: return c.since_ns + (c.received.empty() ? limits_.idle_ns : limits_.request_ns);
    case state::waits: return c.work->ends_ns;
    case state::takes: return c.since_ns + limits_.sending_ns;
    case state::watches: return c.has_all() ? never_ns : c.since_ns + limits_.sending_ns;
    case state::leaves: return c.since_ns + limits_.leaving_ns;
  }
  return never_ns;
}

void http_server::admit(owned_descriptor taken) {
  connection* const c = place_for_client();
  if (c != nullptr) {
    c->fd = taken.release();
    enter(*c, state::asks);
    descriptors_.keep(static_cast<std::size_t>(c - connections_.data()), c->fd);
    return;
  }
  int const fd = taken.get();
  http_answer const full = error_answer(503, "too many connections");
  std::string const text = head_of(full, false) + full.body;
  static_cast<void>(rt::os::send(fd, text.data(), text.size()));
  static_cast<void>(rt::os::shutdown(fd, SHUT_WR));
  // What was received and not read would turn the close into a reset, which may overtake the answer.
  std::array<char, 1024> unread{};
  static_cast<void>(rt::os::receive(fd, unread.data(), unread.size()));
}

// nullptr: all connections are in use.
http_server::connection* http_server::place_for_client() {
  auto const free =
      std::find_if(connections_.begin(), connections_.end(), [](connection const& c) { return c.is == state::unused; });
  if (free != connections_.end()) return &*free;
  std::int64_t const now_ns = rt::os::monotonic_ns();
  connection* oldest = nullptr;
  for (connection& c : connections_) {
    bool const gives_way =
        c.is == state::asks && c.received.empty() && (c.has_been_served || now_ns - c.since_ns >= limits_.gives_way_ns);
    if (gives_way && (oldest == nullptr || c.since_ns < oldest->since_ns)) oldest = &c;
  }
  if (oldest != nullptr) drop(*oldest);
  return oldest;
}

void http_server::enter(connection& c, state next) noexcept {
  c.is = next;
  c.since_ns = rt::os::monotonic_ns();
}

void http_server::look_at(connection& c, short events) {
  if ((events & POLLNVAL) != 0) c.fd = -1;  // the program has closed it, and the number may be another file's by now
  if ((events & (POLLERR | POLLHUP | POLLNVAL | POLLRDHUP)) != 0) return drop(c);  // it takes no answer any more
  bool const is_late = rt::os::monotonic_ns() >= limit_of(c);
  switch (c.is) {
    case state::unused: return;
    case state::asks:
      if (c.has_more_to_read) return read_request(c);
      if ((events & POLLIN) != 0) return receive_from(c);
      if (!is_late) return;
      if (c.received.empty()) return drop(c);
      c.stays_open = false;
      c.is_for_head = false;
      return put_answer(c, error_answer(408, "the request took too long"));
    case state::waits: {
      if (!is_late) return;
      std::unique_ptr<pending_answer> const work = std::move(c.work);
      return put_answer(c, answer_or_error([&] { return work->finish(); }));
    }
    case state::takes:
    case state::watches:
      if ((events & POLLOUT) != 0) return send_to(c);
      if (is_late) drop(c);
      return;
    case state::leaves:
      if ((events & POLLIN) != 0) return receive_from(c);
      if (is_late) drop(c);
      return;
  }
}

void http_server::receive_from(connection& c) {
  std::array<char, 4096> bytes{};
  long const count = rt::os::receive(c.fd, bytes.data(), bytes.size());
  if (rt::debug::would_wait(count)) return;
  if (count <= 0) return drop(c);
  if (c.is == state::leaves) return;
  if (c.received.empty()) c.since_ns = rt::os::monotonic_ns();  // the time of a request begins with its first byte
  c.received.append(bytes.data(), static_cast<std::size_t>(count));
  read_request(c);
}

// What has been received is at most the longest head and what one call has added to it. It may be several requests.
void http_server::read_request(connection& c) {
  c.has_more_to_read = false;
  std::string text = std::move(c.received);
  c.received.clear();
  http_head const head = read_head(text);
  if (head.is == http_head::outcome::incomplete) {
    c.received = std::move(text);
    return;
  }
  if (head.is == http_head::outcome::bad) {
    c.stays_open = false;
    c.is_for_head = false;
    return put_answer(c, error_answer(head.status, head.why));
  }
  c.received = text.substr(head.bytes);
  c.has_more_to_read = !c.received.empty();
  c.stays_open = head.request.stays_open;
  c.is_for_head = head.request.method == http_method::head;
  begin_answer(c, head.request);
}

void http_server::begin_answer(connection& c, http_request const& asked) {
  if (refusal const why_not = refuse(asked, rules_)) return put_answer(c, error_answer(why_not.status, why_not.why));
  if (unsent() > limits_.unsent_max) return put_answer(c, error_answer(503, "other clients are taking long answers"));
  http_answer given = answer_or_error([&] { return api_.answer(asked); });
  if (given.is_stream) return begin_to_watch(c);
  put_answer(c, std::move(given));
}

void http_server::begin_to_watch(connection& c) {
  auto const viewers = std::count_if(connections_.begin(), connections_.end(),
                                     [](connection const& each) { return each.is == state::watches; });
  if (static_cast<std::size_t>(viewers) >= viewers_max) return put_answer(c, error_answer(503, "too many viewers"));
  http_answer stream;
  stream.is_stream = true;
  c.to_send = head_of(stream, false) + "retry: 2000\n\n";
  c.sent = c.part_sent = 0;
  c.procs_told = -1;
  enter(c, state::watches);
  send_to(c);
}

void http_server::put_answer(connection& c, http_answer given) {
  if (given.work != nullptr) {
    c.work = std::move(given.work);
    return enter(c, state::waits);
  }
  c.to_send = head_of(given, c.stays_open);
  if (!c.is_for_head) {
    c.to_send += given.body;
    c.page = given.page;
    c.file_bytes = given.file.get() >= 0 ? given.file_bytes : 0;
    c.file = std::move(given.file);
  }
  c.sent = c.part_sent = 0;
  enter(c, state::takes);
  send_to(c);
}

// Sends a part of the answer. Returns the number of bytes, or -errno.
long http_server::send_part(connection& c) {
  if (c.sent < c.to_send.size()) {
    return rt::os::send(c.fd, c.to_send.data() + c.sent, std::min(c.to_send.size() - c.sent, part_bytes));
  }
  std::size_t const of_page = c.sent - c.to_send.size();
  if (of_page < c.page.size())
    return rt::os::send(c.fd, c.page.data() + of_page, std::min(c.page.size() - of_page, part_bytes));
  std::int64_t offset = c.file_sent;
  auto const rest = static_cast<std::size_t>(c.file_bytes - c.file_sent);
  return rt::os::send_file(c.fd, c.file.get(), offset, std::min(rest, part_bytes));
}

// At most some parts at a time, so that a fast client of a long answer does not keep the others waiting.
void http_server::send_to(connection& c) {
  for (int parts = 0; !c.has_all(); ++parts) {
    if (parts == rt::debug::parts_at_once) return;
    long const count = send_part(c);
    if (rt::debug::would_wait(count)) return;
    if (count <= 0) return drop(c);  // 0: the file is shorter than it was
    if (c.sent == c.to_send.size() + c.page.size()) {
      c.file_sent += count;
    } else {
      c.sent += static_cast<std::size_t>(count);
    }
    c.part_sent += static_cast<std::size_t>(count);
    if (c.part_sent < part_bytes) continue;
    c.part_sent = 0;
    c.since_ns = rt::os::monotonic_ns();
  }
  has_sent_all(c);
}

void http_server::has_sent_all(connection& c) {
  c.to_send = {};  // gives the memory back
  c.sent = c.part_sent = 0;
  if (c.is == state::watches) return;
  c.page = {};
  c.file = {};
  c.file_bytes = c.file_sent = 0;
  c.has_been_served = true;
  if (c.stays_open) return enter(c, state::asks);
  static_cast<void>(rt::os::shutdown(c.fd, SHUT_WR));
  enter(c, state::leaves);
}

void http_server::drop(connection& c) noexcept {
  descriptors_.keep(static_cast<std::size_t>(&c - connections_.data()), -1);
  if (c.fd >= 0) rt::os::close(c.fd);
  c = connection();
}

void http_server::disconnect_all() noexcept {
  for (connection& c : connections_) drop(c);
}

std::size_t http_server::unsent() const noexcept {
  std::size_t bytes = 0;
  for (connection const& c : connections_) bytes += c.to_send.size();
  return bytes;
}

bool http_server::any_viewer_is_ready() const noexcept {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](connection const& c) { return c.is == state::watches && c.has_all(); });
}

void http_server::show_machine() {
  std::int64_t const begun_ns = rt::os::monotonic_ns();
  if (begun_ns < shows_from_ns_ || !any_viewer_is_ready()) return;
  machine_picture taken;
  std::string step;
  std::string recording;
  try {
    {
      rt::in_run const inside(*gate_);
      if (!inside) return;
      taken = take_picture(sched_);
    }
    step = "data: " + step_of(taken, begun_ns - began_ns_) + "\n\n";
    recording = "event: recording\ndata: " + recording_of(taken, begun_ns - began_ns_) + "\n\n";
    std::int64_t const ended_ns = rt::os::monotonic_ns();
    shows_from_ns_ = std::max(begun_ns + limits_.event_ns, ended_ns + pause_per_picture * (ended_ns - begun_ns));
    for (connection& c : connections_) {
      if (c.is != state::watches || !c.has_all()) continue;
      c.to_send = std::exchange(c.procs_told, taken.procs) == taken.procs ? step : recording;
      c.since_ns = ended_ns;
      send_to(c);
    }
  } catch (std::bad_alloc const&) {
    shows_from_ns_ = begun_ns + rt::debug::without_resources_ns;
  }
}

}  // namespace thrum::live
