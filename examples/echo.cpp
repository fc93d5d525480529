// An echo server and its clients in one program: one goroutine per connection, in blocking style.
//
//   example_echo [clients [rounds]]     prints "<clients> clients had <messages> messages answered"
//   example_echo --serve host:port      serves until SIGINT or SIGTERM
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

void echo(thrum::tcp_conn conn) {
  std::array<char, 4096> bytes;
  std::error_code error;
  while (auto const n = conn.read_some(bytes, error)) {
    conn.write_all({bytes.data(), n}, error);
    if (error) return;  // the client has closed
  }
}

// Returns when the listener is closed.
void serve(thrum::tcp_listener& listener) {
  for (;;) {
    std::error_code error;
    auto conn = listener.accept(error);
    if (error) return;
    thrum::go(echo, std::move(conn));
  }
}

int serve_until_signalled(std::string_view address) {
  auto listener = thrum::tcp_listener::listen(address);
  std::printf("serving on %s\n", listener.local_endpoint().to_string().c_str());
  std::fflush(stdout);
  auto const stop = thrum::signals(SIGINT, SIGTERM);
  thrum::go([&] {
    static_cast<void>(stop.recv());
    listener.close();
  });
  serve(listener);
  return 0;
}

int talk_to_itself(int clients, int rounds) {
  auto listener = thrum::tcp_listener::listen("127.0.0.1:0");
  auto const address = listener.local_endpoint().to_string();
  thrum::go([&] { serve(listener); });
  std::atomic<int> answered{0};
  thrum::wait_group all;
  for (int i = 0; i < clients; ++i) {
    all.add(1);
    thrum::go([&, i] {
      auto conn = thrum::tcp_conn::dial(address);
      conn.set_deadline(std::chrono::minutes(1));
      for (int round = 0; round < rounds; ++round) {
        std::string const said = "client " + std::to_string(i) + ", message " + std::to_string(round);
        std::string heard(said.size(), '\0');
        conn.write_all(said);
        if (conn.read_full(heard) == said.size() && heard == said) ++answered;
      }
      all.done();
    });
  }
  all.wait();
  std::printf("%d clients had %d messages answered\n", clients, answered.load());
  return answered == clients * rounds ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return thrum::run([&] {
    if (argc == 3 && std::string_view(argv[1]) == "--serve") return serve_until_signalled(argv[2]);
    return talk_to_itself(argc > 1 ? std::atoi(argv[1]) : 50, argc > 2 ? std::atoi(argv[2]) : 100);
  });
}
