#include "net/query.h"

#include "base/first_made.h"
#include "net/address.h"
#include "net/cares.h"
#include "net/connect.h"
#include "net/io_call.h"
#include "os/clock.h"
#include "os/descriptor_set.h"
#include "os/env.h"
#include "os/socket.h"
#include <thrum/blocking.h>
#include <thrum/fd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include <netdb.h>
#include <sys/time.h>

namespace thrum::rt {

bool sources_are_plain(std::string_view nsswitch) {
  while (!nsswitch.empty()) {
    std::string_view line = nsswitch.substr(0, nsswitch.find('\n'));
    nsswitch.remove_prefix(std::min(line.size() + 1, nsswitch.size()));
    line = line.substr(0, line.find('#'));
    constexpr std::string_view blank = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
    if (!line.starts_with("hosts:")) continue;
    line.remove_prefix(6);
    for (;;) {
      line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
      if (line.empty()) return true;
      std::string_view const source = line.substr(0, line.find_first_of(blank));
      if (source != "files" && source != "dns") return false;
      line.remove_prefix(source.size());
    }
  }
  return true;  // without a "hosts:" line the sources are "files dns"
}

namespace {

std::string& name_servers() {
  static constinit first_made<std::string> servers;
  return servers.get([] { return std::make_unique<std::string>(); });
}

bool c_library_is_wanted() { return os::debug_word(os::environment("THRUM_DEBUG"), "netdns") == "c"; }

bool machine_is_plain() {
  std::ifstream file("/etc/nsswitch.conf");
  std::string const text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return sources_are_plain(text);
}

std::error_code error_of_status(int status) noexcept {
  switch (status) {
    case ARES_SUCCESS: return {};
    case ARES_ENOMEM: return {EAI_MEMORY, resolve_category()};
    case ARES_ETIMEOUT:
    case ARES_ECONNREFUSED:
    case ARES_ESERVFAIL:
    case ARES_EREFUSED: return {EAI_AGAIN, resolve_category()};
    case ARES_ECANCELLED: return std::make_error_code(std::errc::timed_out);
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_ENONAME:
    case ARES_EBADNAME: return {EAI_NONAME, resolve_category()};
    default: return {EAI_FAIL, resolve_category()};
  }
}

// The lookup of one name. c-ares calls socket_changed and answered from inside the calls that this goroutine makes to
// it. These callbacks do not park. sockets_ is an epoll instance that holds the sockets of c-ares, and the goroutine
// waits for that.
class lookup {
 public:
  explicit lookup(std::uint16_t port) noexcept : port_(port) {}
  lookup(lookup const&) = delete;
  lookup& operator=(lookup const&) = delete;
  ~lookup() {
    // ares_destroy closes the sockets and calls socket_changed, so sockets_ has to be open.
    if (channel_ != nullptr) cares::loaded().ares_destroy(channel_);
  }

  void begin(std::string const& name, std::error_code& error) {
    int const set = os::open_descriptor_set();
    if (set < 0) {
      error = system_error_of(-set);
      return;
    }
    sockets_ = fd(set, error);
    if (error) {
      os::close(set);
      return;
    }
    error = blocking([&] { return ask(name); });  // c-ares reads its configuration files and /etc/hosts
  }

  std::vector<endpoint> finish(std::int64_t until_ns, std::error_code& error) {
    cares const& c = cares::loaded();
    while (!is_done_) {
      if (!wait(until_ns, error)) {
        if (os::monotonic_ns() >= until_ns) c.ares_cancel(channel_);
        if (error) return {};
        c.ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);  // c-ares repeats a question or gives it up
        continue;
      }
      std::array<os::ready_descriptor, 16> ready{};
      int const count = os::ready_descriptors(sockets_.native_handle(), ready.data(), static_cast<int>(ready.size()));
      for (int i = 0; i < count && !is_done_; ++i) {
        auto const& one = ready[static_cast<std::size_t>(i)];
        c.ares_process_fd(channel_, one.readable ? one.fd : ARES_SOCKET_BAD, one.writable ? one.fd : ARES_SOCKET_BAD);
      }
    }
    error = no_memory_ ? std::error_code(EAI_MEMORY, resolve_category()) : error_of_status(status_);
    if (!error && found_.empty()) error = {EAI_NONAME, resolve_category()};
    return std::move(found_);
  }

 private:
  std::error_code ask(std::string const& name) {
    cares const& c = cares::loaded();
    ares_options options{};
    options.sock_state_cb = socket_changed;
    options.sock_state_cb_data = this;
    // The C library's values. The timeout is in ms and doubles with each try, so a silent server is given up after 15
    // s. With the defaults of c-ares it would be 75 s.
    options.timeout = 5'000;
    options.tries = 2;
    int status = c.ares_init_options(&channel_, &options, ARES_OPT_SOCK_STATE_CB | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
    if (status == ARES_SUCCESS && !name_servers().empty()) {
      status = c.ares_set_servers_ports_csv(channel_, name_servers().c_str());
    }
    if (status != ARES_SUCCESS) return error_of_status(status);
    ares_addrinfo_hints wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;  // otherwise c-ares returns each address once per socket type
    c.ares_getaddrinfo(channel_, name.c_str(), nullptr, &wanted, answered, this);
    return {};
  }

  // Waits until a socket is ready, c-ares has to be called because of a timeout, or `until_ns` has come. Returns true
  // if a socket is ready. Otherwise it returns false, with `error` set if something failed.
  bool wait(std::int64_t until_ns, std::error_code& error) {
    timeval longest{};
    std::int64_t wake_ns = until_ns;
    if (cares::loaded().ares_timeout(channel_, nullptr, &longest) != nullptr) {
      std::int64_t const in_ns = longest.tv_sec * std::int64_t{1'000'000'000} + longest.tv_usec * std::int64_t{1'000};
      wake_ns = std::min(until_ns, os::monotonic_ns() + in_ns);
    }
    static_assert(fd::no_deadline == clock::time_point(clock::duration(never_poll)));
    sockets_.set_read_deadline(clock::time_point(clock::duration(wake_ns)), error);
    if (!error) sockets_.wait_readable(error);
    if (error != std::errc::timed_out) return !error;
    error.clear();
    return false;
  }

  static void socket_changed(void* self, ares_socket_t socket, int readable, int writable) noexcept {
    // A closed socket leaves the epoll instance by itself. If adding a socket fails, the question times out.
    static_cast<void>(os::watch_descriptor(static_cast<lookup*>(self)->sockets_.native_handle(), socket, readable != 0,
                                           writable != 0));
  }

  static void answered(void* self, int status, int /*timeouts*/, ares_addrinfo* result) noexcept {
    auto& its = *static_cast<lookup*>(self);
    its.is_done_ = true;
    its.status_ = status;
    if (result == nullptr) return;
    try {
      its.take(*result);
    } catch (std::bad_alloc const&) {  // an exception must not pass through the C code of c-ares
      its.no_memory_ = true;
    }
    cares::loaded().ares_freeaddrinfo(result);
  }

  void take(ares_addrinfo const& result) {
    for (auto const* node = result.nodes; node != nullptr; node = node->ai_next) {
      add_address(found_, node->ai_addr, node->ai_addrlen, port_);
    }
  }

  fd sockets_;
  ares_channel channel_ = nullptr;
  std::uint16_t const port_;
  std::vector<endpoint> found_;
  int status_ = ARES_SUCCESS;
  bool is_done_ = false;
  bool no_memory_ = false;
};

}  // namespace

bool names_can_be_queried() {
  static constinit first_made<bool const> can;
  return can.get([] {
    return std::make_unique<bool const>(!c_library_is_wanted() && machine_is_plain() && cares::loaded().is_ready);
  });
}

std::vector<endpoint> query_name(std::string const& name, std::uint16_t port, std::int64_t until_ns,
                                 std::error_code& error) {
  error.clear();
  lookup its(port);
  its.begin(name, error);
  if (error) return {};
  return its.finish(until_ns, error);
}

void set_name_servers(std::string servers) { name_servers() = std::move(servers); }

}  // namespace thrum::rt
