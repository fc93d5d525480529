// The live view: a web server inside the program, which shows its goroutines, threads and queues in a browser.
//
//   thrum::run([] {
//     thrum::debug::serve("127.0.0.1:6070");   // http://127.0.0.1:6070/
//     serve_my_users();
//   });
//
// It also has metrics for Prometheus, profiles, traces and a JSON API: docs/live_view.md. Link the CMake target
// thrum::debug.
//
// The server has a thread of its own, so it also answers while all goroutines are stuck or all Ps compute. It ends with
// the run.
//
// It shows what the program does to every client that can reach it, and lets clients record traces and profiles. So it
// listens on this machine only, unless the options say otherwise, and other machines need a token. All users of this
// machine are clients, too: set a token if that matters. There is no encryption: use a
// tunnel (ssh -L 6070:127.0.0.1:6070 host) where you do not trust the network.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/endpoint.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum::debug {

struct serve_options {
  // Lets the server listen on an address that other machines can reach. It needs a token then.
  bool beyond_loopback = false;
  // Every request has to bring it, as "Authorization: Bearer TOKEN" or as ?token=TOKEN. At least 16 characters. Empty:
  // none is needed.
  std::string token = {};
  // The names under which browsers may ask for the server, without the port. Addresses and "localhost" always may.
  std::vector<std::string> hosts = {};
};

// A server that was started. Copies are the same one. It serves until stop() is called or the run ends, also if this
// object is gone.
class server {
 public:
  // With the port that the system has chosen.
  [[nodiscard]] endpoint const& address() const noexcept { return address_; }
  [[nodiscard]] std::string url() const;
  // Disconnects all clients, and ends the traces and profiles that they have begun. Does nothing if the server has
  // ended already. Waits for the request that is being answered. Any goroutine or thread, but no constructor that
  // dlopen runs, because the request may be waiting for the loader's lock.
  void stop() const;

 private:
  friend server serve(std::string_view address, serve_options const& chosen);
  server(endpoint const& address, std::uint64_t number) noexcept : address_(address), number_(number) {}

  endpoint address_;
  std::uint64_t number_;
};

// `address` is a numeric address with a port, or localhost with a port. Port 0 lets the system choose one. Returns when
// the server takes connections. May be called on any goroutine or thread while a runtime is alive, and several times.
//
// Throws std::system_error if the address cannot be had, for example because another process uses the port;
// std::invalid_argument if the options do not allow the address, or if the token is too short; and std::logic_error if
// no runtime is alive.
server serve(std::string_view address, serve_options const& chosen = {});

}  // namespace thrum::debug
