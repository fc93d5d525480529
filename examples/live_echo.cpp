// An echo server with a live view, and clients that keep it busy.
//
//   example_live_echo [clients [port]]
//
// It prints the address of the live view (docs/live_view.md), and then every 100 ms the time in ns and how many
// messages the clients have got back since it began, until SIGTERM comes.
#include <thrum/debug.h>
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace {

using namespace std::chrono_literals;

void echo(thrum::tcp_conn client) {
  std::array<char, 4096> bytes{};
  while (std::size_t const count = client.read_some(bytes)) client.write_all({bytes.data(), count});
}

// Returns when the listener is closed.
void serve_clients(thrum::tcp_listener& listener) {
  for (;;) {
    std::error_code error;
    auto client = listener.accept(error);
    if (error) return;
    thrum::go(echo, std::move(client));
  }
}

void be_a_client(std::string const& server, std::atomic<std::uint64_t>& messages) {
  thrum::tcp_conn connection = thrum::tcp_conn::dial(server);
  std::array<char, 64> message{};
  do {
    connection.write_all(message);
    ++messages;
  } while (connection.read_full(message) == message.size());
}

void echo_with_a_live_view(int clients, std::string const& port) {
  auto const stop = thrum::signals(SIGINT, SIGTERM);
  std::printf("%s\n", thrum::debug::serve("127.0.0.1:" + port).url().c_str());
  thrum::tcp_listener listener = thrum::tcp_listener::listen("127.0.0.1:0");
  std::string const server = listener.local_endpoint().to_string();
  std::atomic<std::uint64_t> messages{0};
  thrum::go([&] { serve_clients(listener); });
  for (int i = 0; i < clients; ++i) thrum::go([&] { be_a_client(server, messages); });
  thrum::go([&messages] {
    for (;; thrum::sleep_for(100ms)) {
      auto const now = std::chrono::steady_clock::now().time_since_epoch() / 1ns;
      std::printf("%lld %llu\n", static_cast<long long>(now), static_cast<unsigned long long>(messages.load()));
      std::fflush(stdout);
    }
  });
  static_cast<void>(stop.recv());
}

}  // namespace

int main(int argc, char** argv) {
  thrum::run([&] { echo_with_a_live_view(argc > 1 ? std::atoi(argv[1]) : 100, argc > 2 ? argv[2] : "0"); });
}
