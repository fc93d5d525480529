#include "boot/debug_socket.h"

#include "base/check.h"
#include "boot/debug_requests.h"
#include "net/address.h"
#include "os/env.h"
#include "os/private_socket.h"
#include "os/socket.h"
#include "os/thread.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace thrum::rt {
namespace {

constexpr int waiting_clients_max = 16;
// How long the end of a run waits for a request that looks names up.
constexpr std::int64_t end_patience_ns = 200'000'000;

// The file of the run that is alive. It is removed also when no run comes to its end, in a signal handler.
struct {
  atomic<bool> exists{false};
  int process = 0;
  os::file_identity identity;
  char path[os::socket_path_max] = {};
} constinit served;

// Of the run that is alive, for a child of fork.
constinit atomic<debug::request_server*> server_of_live_run{nullptr};

}  // namespace

void remove_debug_socket_file() noexcept {
  if (!served.exists.exchange(false, acquire)) return;  // pairs with note_file
  if (served.process == os::process_id()) os::remove_if_it_is(served.path, served.identity);
}

namespace {

// Not in a destructor of a static object: such a destructor runs later than this, or not at all.
void watch_for_the_end() noexcept {
  static constinit atomic<bool> is_done{false};
  if (is_done.exchange(true, relaxed)) return;  // relaxed: one run at a time
  static_cast<void>(
      std::atexit([] { remove_debug_socket_file(); }));  // without memory for it, the file stays until the next program
}

void note_file(std::string const& path) noexcept {
  if (os::identity_of(path.c_str(), served.identity) != 0) return;
  served.process = os::process_id();
  std::memcpy(served.path, path.c_str(), path.size() + 1);
  served.exists.store(true, release);  // pairs with remove_debug_socket_file
}

[[noreturn]] void throw_failed(int error, std::string const& what) {
  throw std::system_error(error, std::generic_category(), "thrum: the debug socket: " + what);
}

// The system takes a path up to its first NUL character, so it would be another one.
void require_no_nul(std::string const& path) {
  if (has_nul(path)) throw_failed(EINVAL, "listen: the path in options::debug_socket contains a NUL character");
}

// A path that is too long would be cut off.
void require_short_enough(std::string const& whole) {
  constexpr std::size_t length_max = os::socket_path_max - 1;
  if (whole.size() <= length_max) return;
  throw_failed(EINVAL, "listen at " + whole + ": the path of a Unix socket has at most " + std::to_string(length_max) +
                           " bytes, and this one has " + std::to_string(whole.size()));
}

// The directory of default_socket_path.
std::string default_directory() {
  char const* const run = os::environment("XDG_RUNTIME_DIR");
  if (run != nullptr && *run == '/') return std::string(run) + "/thrum";
  return "/tmp/thrum-" + std::to_string(os::user_id());
}

bool is_on(char const* debug, bool otherwise) noexcept {
  std::int64_t value = 0;
  return os::debug_setting(debug, "socket", value) ? value != 0 : otherwise;
}

}  // namespace

std::string default_socket_path() { return default_directory() + '/' + std::to_string(os::process_id()) + ".sock"; }

void debug_socket::open(options const& chosen) {
  std::string const& wanted = chosen.debug_socket;
  if (!is_on(os::environment("THRUM_DEBUG"), !wanted.empty())) return;
  if (!wanted.empty()) {
    if (wanted != "default" && wanted.find('/') == std::string::npos)
      throw std::invalid_argument("thrum: options::debug_socket = \"" + wanted +
                                  "\" must be \"default\" or a path with a slash");
    open_at(wanted);
    return;
  }
  try {
    open_at("default");
  } catch (std::exception const& failure) {
    print_error("%s; THRUM_DEBUG=socket=1 has no effect", failure.what());
  }
}

void debug_socket::open_at(std::string const& path) {
  require_no_nul(path);
  std::string whole = path;
  if (path == "default") {
    std::string const directory = default_directory();
    if (int const error = os::make_private_directory(directory.c_str()); error < 0)
      throw_failed(-error, "make the directory " + directory + " for this user alone");
    os::remove_stale_sockets(directory.c_str());
    whole = default_socket_path();
  } else {
    whole = std::filesystem::absolute(path).string();  // the program may change its directory
  }
  require_short_enough(whole);
  int const listener = os::listen_privately(whole.c_str(), waiting_clients_max);
  if (listener < 0) throw_failed(-listener, "listen at " + whole);
  listener_ = listener;
  note_file(whole);
  watch_for_the_end();
}

void debug_socket::serve(Sched& s) {
  if (listener_ < 0) return;
  gate_ = std::make_shared<run_gate>();
  int error = 0;
  server_ = debug::request_server::start(s, std::exchange(listener_, -1), std::make_unique<debug_requests>(s, gate_),
                                         {}, error);
  if (server_ == nullptr) throw_failed(error, "cannot create its thread");
  server_of_live_run.store(server_, release);
}

void debug_socket::end() noexcept {
  if (listener_ >= 0) os::close(std::exchange(listener_, -1));
  remove_debug_socket_file();
  if (server_ == nullptr) return;
  server_of_live_run.store(nullptr, relaxed);
  debug::request_server::end(std::exchange(server_, nullptr), end_patience_ns);
  gate_->close();  // if the thread was left behind, it does not use the run any more
}

void debug_socket::abandon() noexcept {
  server_ = nullptr;
  listener_ = -1;
  server_of_live_run.store(nullptr, relaxed);
}

void forget_debug_socket_of_parent() noexcept {
  served.exists.store(false, relaxed);  // relaxed: this process has one thread
  if (debug::request_server const* const its = server_of_live_run.exchange(nullptr, relaxed))
    its->close_descriptors_in_child();
}

}  // namespace thrum::rt
