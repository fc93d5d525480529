// A server with the protocol of Redis: strings, lists, expiry, publish and subscribe. Try it with redis-cli.
//
//   example_kv [--port N] [--bind ADDRESS] [--procs P]
//
// The first line of its output says where it listens, also with port 0. It serves until SIGINT, SIGTERM or the command
// SHUTDOWN.
#include "numbers.h"
#include "server.h"
#include <thrum/thrum.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace {

struct settings {
  std::string address = "127.0.0.1";
  std::int64_t port = 6379;
  std::int64_t procs = 0;  // 0: the default of options::max_procs
};

std::optional<settings> settings_of(int argc, char** argv) {
  settings chosen;
  if (argc % 2 == 0) return std::nullopt;
  for (int i = 1; i < argc; i += 2) {
    std::string_view const option = argv[i];
    if (option == "--bind") {
      chosen.address = argv[i + 1];
      continue;
    }
    bool const is_port = option == "--port";
    auto const number = kv::parse_integer(argv[i + 1]);
    if ((!is_port && option != "--procs") || !number || *number < 0 || *number > (is_port ? 65535 : 1024))
      return std::nullopt;
    (is_port ? chosen.port : chosen.procs) = *number;
  }
  return chosen;
}

// "::1" needs brackets before a port.
std::string with_port(std::string const& address, std::int64_t port) {
  bool const is_v6 = address.find(':') != std::string::npos && address.front() != '[';
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

int serve(settings const& chosen) {
  std::error_code failed;
  auto listener = thrum::tcp_listener::listen(with_port(chosen.address, chosen.port), {}, failed);
  if (failed) {
    std::fprintf(stderr, "cannot listen on %s: %s\n", with_port(chosen.address, chosen.port).c_str(),
                 failed.message().c_str());
    return 1;
  }
  auto const signals = thrum::signals(SIGINT, SIGTERM);
  std::printf("ready on %s\n", listener.local_endpoint().to_string().c_str());
  std::fflush(stdout);

  kv::server all;
  auto stopper = thrum::spawn([&] {
    thrum::select(thrum::on_recv(signals), thrum::on_recv(all.stop_asked));
    all.stop(listener);
  });
  all.serve(listener);
  stopper.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto const chosen = settings_of(argc, argv);
  if (!chosen) {
    std::fprintf(stderr, "usage: %s [--port 0..65535] [--bind ADDRESS] [--procs P]\n", argv[0]);
    return 2;
  }
  return thrum::run([&] { return serve(*chosen); }, {.max_procs = static_cast<int>(chosen->procs)});
}
