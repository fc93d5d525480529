// An echo server and its clients over TLS: on each connection one goroutine reads and another one writes.
//
//   example_tls_echo chain.pem key.pem roots.pem [clients]     prints "<clients> clients had every line answered"
//   example_tls_echo --serve host:port chain.pem key.pem       serves until SIGINT or SIGTERM
//
// To make a self-signed certificate for tests:
//   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out chain.pem -days 30
//       -subj /CN=localhost -addext subjectAltName=DNS:localhost
#include <thrum/thrum.h>
#include <thrum/tls.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;

void echo(thrum::tcp_conn plain, thrum::tls_context const& context) {
  std::error_code error;
  auto conn = thrum::tls_stream::server(std::move(plain), context, error);
  if (!error) conn.set_deadline(10s, error);
  if (!error) conn.handshake(error);
  if (error) {
    std::printf("no handshake: %s\n", error.message().c_str());
    return;
  }
  conn.set_deadline(conn.no_deadline, error);
  std::array<char, 4096> bytes;
  while (auto const n = conn.read_some(bytes, error)) {
    conn.write_all({bytes.data(), n}, error);
    if (error) return;  // the client has closed
  }
  conn.close(error);  // sends close_notify
}

// Returns when the listener is closed. `served` counts the connections.
void serve(thrum::tcp_listener& listener, thrum::tls_context const& context, thrum::wait_group& served) {
  for (;;) {
    std::error_code error;
    auto plain = listener.accept(error);
    if (error) return;
    served.go([plain = std::move(plain), context]() mutable { echo(std::move(plain), context); });
  }
}

int serve_until_signalled(std::string_view address, thrum::tls_identity const& who) {
  auto const context = thrum::tls_context::server({.identities = {who}});
  auto listener = thrum::tcp_listener::listen(address);
  std::printf("serving on %s\n", listener.local_endpoint().to_string().c_str());
  std::fflush(stdout);
  auto const stop = thrum::signals(SIGINT, SIGTERM);
  thrum::go([&] {
    static_cast<void>(stop.recv());
    listener.close();
  });
  thrum::wait_group served;
  serve(listener, context, served);
  return 0;
}

bool talk(std::string const& address, thrum::tls_context const& trust, int number) {
  auto conn = thrum::tls_stream::dial(address, trust, 1min);
  conn.set_deadline(1min);
  std::string said;
  for (int line = 0; line < 100; ++line)
    said += "client " + std::to_string(number) + ", line " + std::to_string(line) + "\n";
  auto writer = thrum::spawn([&] {
    conn.write_all(said);
    conn.shutdown();
  });
  std::string heard(said.size(), '\0');
  bool const is_whole = conn.read_full(heard) == said.size();
  writer.join();
  return is_whole && heard == said;
}

int talk_to_itself(thrum::tls_identity const& who, std::string const& roots, int clients) {
  auto const context = thrum::tls_context::server({.identities = {who}});
  auto const trust = thrum::tls_context::client({.roots_file = roots});
  auto listener = thrum::tcp_listener::listen("127.0.0.1:0");
  auto const address = "localhost:" + std::to_string(listener.local_endpoint().port());
  thrum::wait_group served;
  served.go([&] { serve(listener, context, served); });
  std::atomic<int> answered{0};
  thrum::wait_group all;
  for (int i = 0; i < clients; ++i) all.go([&, i] { answered += talk(address, trust, i); });
  all.wait();
  listener.close();
  served.wait();
  std::printf("%d clients had every line answered\n", answered.load());
  return answered == clients ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::puts("example_tls_echo chain.pem key.pem roots.pem [clients] | --serve host:port chain.pem key.pem");
    return 2;
  }
  return thrum::run([&] {
    if (std::string_view(argv[1]) == "--serve") {
      return argc == 5 ? serve_until_signalled(argv[2], {argv[3], argv[4]}) : 2;
    }
    return talk_to_itself({argv[1], argv[2]}, argv[3], argc > 4 ? std::atoi(argv[4]) : 20);
  });
}
