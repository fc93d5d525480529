#include "debug/request_server.h"

#include "os/clock.h"
#include "os/socket.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <new>
#include <span>
#include <utility>

namespace thrum::rt::debug {
namespace {

// A client that does not take a long answer keeps that much memory. Until it does, other clients get no answers.
constexpr std::size_t unsent_max = std::size_t{1} << 20U;

}  // namespace

answer error(std::string text) { return {.is_error = true, .text = std::move(text), .work = nullptr}; }

answer fine(std::string text) { return {.is_error = false, .text = std::move(text), .work = nullptr}; }

std::size_t number_in(std::string_view text, std::size_t otherwise, std::size_t most) noexcept {
  if (text.empty()) return otherwise;
  std::size_t value = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc{} && end == text.data() + text.size() && value <= most ? value : 0;
}

request_server* request_server::start(Sched& s, int listener, std::unique_ptr<request_handler> handler,
                                      server_limits const& limits, int& error) {
  std::unique_ptr<server_thread> made(new request_server(s, listener, std::move(handler), limits));
  if (!made->start(error)) return nullptr;
  return static_cast<request_server*>(made.release());
}

request_server::request_server(Sched& s, int listener, std::unique_ptr<request_handler> handler,
                               server_limits const& limits)
    : server_thread(s, "thrum-debug", listener), handler_(std::move(handler)), limits_(limits) {
  polled_.reserve(clients_max + 2);
  for (client& c : clients_) c.received.reserve(limits_.request_bytes + 1);
}

void request_server::serve() {
  while (!is_to_end()) {
    wait_for_clients();
    if (is_to_end()) return;
    for (std::size_t i = 0; i < clients_max; ++i) {
      if (clients_[i].fd < 0) continue;
      try {
        look_at(clients_[i], polled_[i].revents);
      } catch (std::bad_alloc const&) {
        drop(clients_[i]);  // there is no memory for what it sends, or for its answer
      }
    }
    take_clients(polled_[clients_max].revents, 2 * clients_max, [this](int fd) { admit(fd); });
  }
}

void request_server::wait_for_clients() {
  std::int64_t const now_ns = os::monotonic_ns();
  std::int64_t until_ns = accepts_from_ns(now_ns);
  polled_.assign(clients_max, pollfd{-1, 0, 0});
  for (std::size_t i = 0; i < clients_max; ++i) {
    client const& c = clients_[i];
    if (c.fd < 0) continue;
    bool const is_asked = !c.is_being_answered() && c.work == nullptr;
    bool const receives = is_asked && !c.sends_no_more && !c.has_whole_request();
    polled_[i] = {c.fd, static_cast<short>(c.is_being_answered() ? POLLOUT : receives ? POLLIN : 0), 0};
    bool const can_answer = is_asked && c.has_whole_request() && may_take_memory(c);
    until_ns = std::min(until_ns, can_answer ? now_ns : limit_of(c));
  }
  polled_.push_back(listener_to_poll(now_ns));
  polled_.push_back(end_to_poll());
  std::int64_t const timeout_ns = until_ns == never_ns ? -1 : std::max<std::int64_t>(until_ns - now_ns, 0);
  if (os::wait_for_any(polled_, timeout_ns) > 0) return;
  for (pollfd& one : polled_) one.revents = 0;
}

// When something has to be done for the client although it does nothing.
std::int64_t request_server::limit_of(client const& c) const noexcept {
  if (c.is_being_answered()) return c.moved_ns + limits_.sending_ns;
  if (c.work != nullptr) return c.work->ends_ns;
  return c.moved_ns + (c.received.empty() ? limits_.idle_ns : limits_.request_ns);
}

void request_server::admit(int fd) {
  auto const refuse = [fd](std::string_view why) {
    static_cast<void>(os::send(fd, why.data(), why.size()));
    os::close(fd);
  };
  std::uint32_t user = 0;
  bool const is_known = os::user_of_peer(fd, user) == 0;
  if (!is_known || (user != 0 && user != os::user_id()))
    return refuse("error only the user of this process and root may ask\n");
  auto const free = std::find_if(clients_.begin(), clients_.end(), [](client const& c) { return c.fd < 0; });
  if (free == clients_.end()) return refuse("error too many clients\n");
  free->fd = fd;
  free->moved_ns = os::monotonic_ns();
  descriptors_.keep(number_of(*free), fd);
}

void request_server::look_at(client& c, short events) {
  // The program has closed it, and the number may be another file's by now.
  if ((events & POLLNVAL) != 0) descriptors_.keep(number_of(c), -1);
  if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0) return drop(c);  // no answer can reach it
  if (c.is_being_answered()) {
    if ((events & POLLOUT) != 0) send_to(c);
  } else if ((events & POLLIN) != 0) {
    receive_from(c);
  }
  if (c.fd < 0 || c.is_being_answered()) {
    if (c.fd >= 0 && os::monotonic_ns() >= limit_of(c)) drop(c);
    return;
  }
  if (c.work != nullptr) {
    if (os::monotonic_ns() >= c.work->ends_ns) finish_work(c);
    return;
  }
  begin_request(c);
}

void request_server::receive_from(client& c) {
  std::array<char, 512> bytes{};
  std::size_t const room = limits_.request_bytes + 1 - std::min(limits_.request_bytes, c.received.size());
  int passed = -1;
  long const count = os::receive_with_descriptor(c.fd, std::span(bytes).first(std::min(bytes.size(), room)), passed);
  if (passed >= 0) {
    descriptors_.close(passed_at + number_of(c));
    descriptors_.keep(passed_at + number_of(c), passed);
  }
  if (would_wait(count)) return;
  if (count < 0) return drop(c);
  if (count == 0) c.sends_no_more = true;
  if (c.received.empty()) c.moved_ns = os::monotonic_ns();  // the time of a request begins with its first byte
  c.received.append(bytes.data(), static_cast<std::size_t>(count));
}

void request_server::begin_request(client& c) {
  std::size_t const end = c.received.find('\n');
  if (end == std::string::npos) {
    bool const is_too_long = c.received.size() > limits_.request_bytes;
    bool const is_late = os::monotonic_ns() >= limit_of(c);
    if (is_too_long || (is_late && !c.received.empty())) {
      c.ends_after_answer = true;
      c.received.clear();
      put_answer(c, error(is_too_long ? "the request is too long" : "the request took too long"));
    } else if (is_late || c.sends_no_more) {
      drop(c);
    }
    return;
  }
  if (!may_take_memory(c)) {
    c.moved_ns = os::monotonic_ns();
    return;
  }
  std::string line = c.received.substr(0, end);
  c.received.erase(0, end + 1);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::size_t const passed = passed_at + number_of(c);
  answer given;
  try {
    given = handler_->handle({line, descriptors_.at(passed)});
  } catch (std::exception const& failure) {
    given = error(failure.what());
  }
  if (given.keeps_descriptor) {
    descriptors_.keep(of_work_at + number_of(c), descriptors_.at(passed));
    descriptors_.keep(passed, -1);
  } else if (c.received.empty()) {  // otherwise it may be for a request that came together with this one
    descriptors_.close(passed);
  }
  put_answer(c, std::move(given));
}

// Closing any descriptor of a file ends the locks that the process has on it, so this one stays as long as the work.
void request_server::end_work(client& c) noexcept {
  c.work.reset();
  descriptors_.close(of_work_at + number_of(c));
}

bool request_server::may_take_memory(client const& asking) const noexcept {
  return std::none_of(clients_.begin(), clients_.end(),
                      [&](client const& c) { return &c != &asking && c.fd >= 0 && c.unsent() > unsent_max; });
}

void request_server::put_answer(client& c, answer given) {
  c.moved_ns = os::monotonic_ns();
  c.work = std::move(given.work);
  if (c.work != nullptr) return;
  c.sent = 0;
  c.first_line = given.is_error ? "error " : "ok ";
  c.first_line += given.is_error ? given.text : std::to_string(given.text.size());
  c.first_line += '\n';
  if (!given.is_error) c.text = std::move(given.text);
  send_to(c);
}

void request_server::finish_work(client& c) {
  answer given;
  try {
    given = c.work->finish();
  } catch (std::exception const& failure) {
    given = error(failure.what());
  }
  end_work(c);
  put_answer(c, std::move(given));
}

std::string_view request_server::client::next_piece() const noexcept {
  std::size_t const head = first_line.size();
  return sent < head ? std::string_view(first_line).substr(sent) : std::string_view(text).substr(sent - head);
}

void request_server::send_to(client& c) {
  for (int parts = 0; c.is_being_answered(); ++parts) {
    if (parts == parts_at_once) return;
    std::string_view const piece = c.next_piece();
    long const count = os::send(c.fd, piece.data(), piece.size());
    if (would_wait(count)) return;
    if (count < 0) return drop(c);
    c.sent += static_cast<std::size_t>(count);
    c.moved_ns = os::monotonic_ns();
  }
  c.first_line.clear();
  c.text = {};  // gives the memory back
  c.sent = 0;
  if (c.ends_after_answer) drop(c);
}

void request_server::drop(client& c) noexcept {
  end_work(c);
  descriptors_.close(passed_at + number_of(c));
  descriptors_.close(number_of(c));
  c = client();
}

void request_server::disconnect_all() noexcept {
  for (client& c : clients_) drop(c);
}

}  // namespace thrum::rt::debug
