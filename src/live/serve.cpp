// <thrum/debug.h>
#include "boot/run_guests.h"
#include "core/current.h"
#include "core/forked.h"
#include "live/http_server.h"
#include "os/short_wait.h"
#include "os/socket.h"
#include <thrum/blocking.h>
#include <thrum/debug.h>

#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <netinet/in.h>

namespace thrum::debug {
namespace {

constexpr std::size_t token_bytes_min = 16;
constexpr int waiting_clients_max = 64;
// How long the end of a run waits for a request that looks names up.
constexpr std::int64_t end_patience_ns = 200'000'000;

class guest final : public rt::run_guest {
 public:
  explicit guest(std::shared_ptr<rt::run_gate> gate) noexcept : gate_(std::move(gate)) {}
  void takes(live::http_server& its) noexcept { server_ = &its; }

  void has_been_admitted() noexcept override { gate_->open(); }
  // What clients have begun, such as a trace, can only be ended while the gate is open.
  bool lets_go() noexcept override {
    server_->ask_to_end();
    return server_->has_disconnected_all() && gate_->try_close();
  }
  void end() noexcept override {
    rt::debug::server_thread::end(server_, end_patience_ns);
    if (!gate_->is_closed()) gate_->close();  // if the thread was left behind, it does not use the run any more
    delete this;
  }
  void close_descriptors_in_child() const noexcept override { server_->close_descriptors_in_child(); }

 private:
  live::http_server* server_ = nullptr;
  std::shared_ptr<rt::run_gate> const gate_;
};

[[noreturn]] void throw_failed(int error, char const* call, std::string_view address) {
  throw std::system_error(error, std::generic_category(),
                          std::string("thrum::debug::serve: ") + call + " " + std::string(address));
}

endpoint address_of(std::string_view text) {
  constexpr std::string_view name = "localhost:";
  std::string const numeric =
      text.starts_with(name) ? "127.0.0.1:" + std::string(text.substr(name.size())) : std::string(text);
  std::error_code error;
  endpoint const parsed = endpoint::parse(numeric, error);
  if (error)
    throw std::system_error(error, "thrum::debug::serve: \"" + std::string(text) + "\" is no address with a port");
  return parsed;
}

void require_safe(endpoint const& where, serve_options const& chosen) {
  if (!chosen.token.empty() && chosen.token.size() < token_bytes_min)
    throw std::invalid_argument("thrum::debug::serve: a token has at least 16 characters");
  if (where.is_loopback()) return;
  if (!chosen.beyond_loopback)
    throw std::invalid_argument("thrum::debug::serve: other machines can reach " + where.to_string() +
                                "; serve_options::beyond_loopback allows that");
  if (chosen.token.empty())
    throw std::invalid_argument("thrum::debug::serve: other machines can reach " + where.to_string() +
                                ", so serve_options::token is needed");
}

// Returns a socket that listens, and its address.
std::pair<live::owned_descriptor, endpoint> listen_at(endpoint const& where) {
  int const fd = rt::os::open_socket(where.family(), SOCK_STREAM, 0);
  if (fd < 0) throw_failed(-fd, "make a socket for", where.to_string());
  live::owned_descriptor listener(fd);
  int error = rt::os::set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (error == 0 && where.is_v6()) error = rt::os::set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (error == 0) error = rt::os::bind(fd, where.data(), where.size());
  if (error == 0) error = rt::os::listen(fd, waiting_clients_max);
  endpoint bound;
  std::uint32_t bytes = endpoint::capacity();
  if (error == 0) error = rt::os::local_address(fd, bound.data(), bytes);
  if (error < 0) throw_failed(-error, "listen at", where.to_string());
  bound.resize(bytes);
  return {std::move(listener), bound};
}

struct started {
  endpoint address;
  std::uint64_t number;
};

started start(rt::Sched& s, endpoint const& where, serve_options const& chosen) {
  auto [listener, bound] = listen_at(where);
  auto gate = std::make_shared<rt::run_gate>(rt::run_gate::at_first::is_closed);
  auto its = std::make_unique<guest>(gate);
  int error = 0;
  live::http_server* const server =
      live::http_server::start(s, std::move(gate), std::move(listener), {chosen.token, chosen.hosts}, {}, error);
  if (server == nullptr) throw_failed(error, "make the thread of the server at", where.to_string());
  its->takes(*server);
  guest* const admitted = its.release();
  if (std::uint64_t const number = rt::admit_guest(s, *admitted); number != 0) return {bound, number};
  admitted->end();
  throw std::logic_error("thrum::debug::serve: the run is ending");
}

}  // namespace

server serve(std::string_view address, serve_options const& chosen) {
  endpoint const where = address_of(address);
  require_safe(where, chosen);
  rt::M* const m = rt::callers_m();
  if (m == nullptr)
    throw std::logic_error(std::string("thrum::debug::serve needs a runtime, but ") + rt::why_no_runtime());
  rt::Sched& s = m->sched;
  rt::enter_runtime(*m);
  rt::kept_run const until_the_end(*m);
  rt::leave_runtime(*m);
  started const made = blocking([&] { return start(s, where, chosen); }, blocking_hint::long_call);
  return {made.address, made.number};
}

std::string server::url() const { return "http://" + address_.to_string() + "/"; }

// Waits for the request that is being answered, because it may use the run, which may end meanwhile.
void server::stop() const {
  auto const take_and_end = [this] {
    rt::os::short_wait wait;
    for (;;) {
      rt::taken_guest const its = rt::take_guest(number_);
      if (its.is == rt::taken_guest::outcome::gone) return;
      if (its.is == rt::taken_guest::outcome::taken) return its.guest->end();
      wait.pause();
    }
  };
  rt::M* const m = rt::callers_m();
  if (m == nullptr || !rt::enter_if_alive(*m)) return;  // the end of the run has stopped the server
  rt::kept_run const until_the_end(*m);
  rt::leave_runtime(*m);
  blocking(take_and_end, blocking_hint::long_call);
}

}  // namespace thrum::debug
