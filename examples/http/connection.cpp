#include "connection.h"

#include "request_check.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <exception>
#include <optional>

#include <cxxabi.h>

namespace http {

namespace {

// Exact to some milliseconds. It only reads a word that the kernel updates.
std::chrono::milliseconds coarse_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::milliseconds(now.tv_sec * 1000LL + now.tv_nsec / 1'000'000);
}

// Returns nothing if the route serves the request.
std::optional<response> refusal_of(route const* chosen, request const& asked) {
  if (chosen == nullptr) return plain_status(404);
  if (chosen->allows(asked.method)) return std::nullopt;
  response refused = plain_status(405);
  refused.headers = "Allow: " + std::string(chosen->allowed()) + "\r\n";
  return refused;
}

}  // namespace

void connection::serve() {
  for (next then = next::go_on; then == next::go_on;) {
    switch (parser_.advance()) {
      case parsed::nothing_more: then = flush() == next::go_on ? receive() : next::stop; break;
      case parsed::head: then = admit(); break;
      case parsed::request: then = answer(); break;
      case parsed::garbage: then = refuse(plain_status(parser_.refusal())); break;
    }
  }
  static_cast<void>(flush());
  if (refused_ || parser_.has_more_bytes()) linger();
}

void connection::end_if_idle() noexcept {
  std::error_code gone;
  if (idle_.load()) conn_.shutdown_read(gone);
}

connection::next connection::receive() {
  std::error_code error;
  bool const is_idle = parser_.is_between_requests();
  if (is_idle) {
    // The store and the load are sequentially consistent, and so is the store to `stopping` before end_if_idle. So at
    // least one of the two threads sees the other's store.
    idle_.store(true);
    if (around_.stopping.load()) return next::stop;
    renew_deadline(error);
  } else if (!request_has_deadline_) {
    request_has_deadline_ = true;
    conn_.set_read_deadline(around_.limits.request, error);
  }
  std::size_t const bytes = conn_.read_some(parser_.space(), error);
  idle_.store(false, std::memory_order_relaxed);
  if (error == std::errc::timed_out && !is_idle) return refuse(plain_status(408));
  if (error || bytes == 0) return next::stop;
  parser_.received(bytes);
  return next::go_on;
}

// Called for a request whose body has not come yet, so that it can be refused without reading the body.
connection::next connection::admit() {
  request const& asked = parser_.current();
  if (int const refusal = refusal_of(asked)) return refuse(plain_status(refusal), asked.method);
  if (auto const unserved = refusal_of(find_route(asked.path), asked)) return refuse(*unserved, asked.method);
  if (expects_continue(asked) && !parser_.has_more_bytes()) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
  return next::go_on;
}

connection::next connection::answer() {
  request& asked = parser_.current();
  if (int const refusal = refusal_of(asked)) return refuse(plain_status(refusal), asked.method);
  if (request_has_deadline_) {
    request_has_deadline_ = false;
    deadline_set_at_ -= around_.limits.idle;  // makes the next renew_deadline set a deadline
  }
  route const* const chosen = find_route(asked.path);
  if (chosen != nullptr && chosen->lasts == route::duration::may_wait && flush() == next::stop) return next::stop;
  response const made = call(chosen, asked);
  bool const keep_alive = asked.keep_alive && !around_.stopping.load(std::memory_order_relaxed);
  bool const without_body = asked.method == method::head;
  append(out_, made, {asked.minor_version, keep_alive, without_body, date_.now()});
  if (made.file.file && !without_body && send_file(made.file) == next::stop) return next::stop;
  if (out_.size() >= answers_bytes_max && flush() == next::stop) return next::stop;
  return keep_alive ? next::go_on : next::stop;
}

response connection::call(route const* chosen, request& asked) {
  if (auto unserved = refusal_of(chosen, asked)) return *std::move(unserved);
  try {
    return chosen->answer(asked, around_.site);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(asked.path.size()), asked.path.data(), error.what());
  } catch (abi::__forced_unwind const&) {
    throw;  // goexit, or the end of the program
  } catch (...) {
    std::fprintf(stderr, "%.*s: an exception\n", static_cast<int>(asked.path.size()), asked.path.data());
  }
  return plain_status(500);
}

// Sends the file in pieces, each with its own deadline. So a slow client may take long, but a client that does not read
// is cut off.
connection::next connection::send_file(file_part const& part) {
  constexpr std::size_t piece_bytes = 1024 * 1024;
  if (flush() == next::stop) return next::stop;
  for (std::size_t done = 0; done < part.bytes;) {
    std::error_code error;
    renew_deadline(error);
    std::size_t const sent = conn_.send_file(part.file.number(), part.offset + static_cast<std::int64_t>(done),
                                             std::min(part.bytes - done, piece_bytes), error);
    if (error || sent == 0) return next::stop;  // 0 bytes: the file has become shorter than the head says
    done += sent;
  }
  return next::go_on;
}

connection::next connection::refuse(response const& how, method asked) {
  refused_ = true;
  append(out_, how, {.without_body = asked == method::head, .date = date_.now()});
  return next::stop;
}

connection::next connection::flush() {
  if (out_.empty()) return next::go_on;
  std::error_code error;
  renew_deadline(error);
  conn_.write_all(out_, error);
  out_.clear();
  if (out_.capacity() > 2 * answers_bytes_max) out_.shrink_to_fit();
  return error ? next::stop : next::go_on;
}

void connection::renew_deadline(std::error_code& error) noexcept {
  auto const now = coarse_now();
  if (now - deadline_set_at_ < around_.limits.idle / 8) return;
  deadline_set_at_ = now;
  if (request_has_deadline_) {
    conn_.set_write_deadline(around_.limits.idle, error);
  } else {
    conn_.set_deadline(around_.limits.idle, error);
  }
}

// Reads and drops what the client sends. Closing a connection with unread bytes would reset it, and the client might
// lose the answer.
void connection::linger() noexcept {
  std::error_code error;
  conn_.shutdown_write(error);
  conn_.set_deadline(std::min(around_.limits.idle, lingering_time_max), error);
  for (std::size_t dropped = 0; !error && dropped < lingering_bytes_max;) {
    std::array<char, 4096> bytes;
    std::size_t const more = conn_.read_some(bytes, error);
    if (more == 0) return;
    dropped += more;
  }
}

}  // namespace http
