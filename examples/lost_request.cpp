// A server that never answers one request in 10,000, with its clients. docs/bug-hunt.md finds the bug in three ways.
//
//   example_lost_request [requests]   prints how many requests have an answer when no more come, and runs until SIGTERM
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace shop {

using namespace std::chrono_literals;

constexpr int items = 5'000;
constexpr int clients = 10;
constexpr std::int32_t not_sold = -1;

// What the shop's database would answer.
std::optional<std::int32_t> look_up(std::int32_t item) {
  thrum::sleep_for(100us);
  if (item == items - 1) return std::nullopt;
  return item % 97;
}

// Looks each price up once. If several requests want the same price at the same time, one looks it up, and the others
// wait for it.
struct price_list {
  thrum::mutex lock;
  std::map<std::int32_t, std::int32_t> known;
  std::map<std::int32_t, thrum::chan<bool>> being_looked_up;  // each channel is closed when the price is known

  std::int32_t price_of(std::int32_t item) {
    lock.lock();
    if (auto const found = known.find(item); found != known.end()) {
      std::int32_t const price = found->second;
      lock.unlock();
      return price;
    }
    if (auto const found = being_looked_up.find(item); found != being_looked_up.end()) {
      thrum::chan<bool> const done = found->second;
      lock.unlock();
      static_cast<void>(done.recv());
      return price_of(item);
    }
    thrum::chan<bool> const done;
    being_looked_up.emplace(item, done);
    lock.unlock();
    auto const price = look_up(item);
    if (!price) return not_sold;
    lock.lock();
    known.emplace(item, *price);
    being_looked_up.erase(item);
    lock.unlock();
    done.close();
    return *price;
  }
};

price_list prices;

std::string_view bytes_of(std::int32_t const& number) {
  return {reinterpret_cast<char const*>(&number), sizeof number};
}

// Returns false at the end of the connection.
bool receive(thrum::tcp_conn& from, std::int32_t& number) {
  std::error_code error;
  return from.read_full({reinterpret_cast<char*>(&number), sizeof number}, error) == sizeof number;
}

void serve_client(thrum::tcp_conn client) {
  std::int32_t item = 0;
  while (receive(client, item)) {
    std::int32_t const price = prices.price_of(item);
    client.write_all(bytes_of(price));
  }
}

std::atomic<int> answered{0};

void be_client(std::string const& address, int number, int requests) {
  auto server = thrum::tcp_conn::dial(address);
  for (std::int32_t request = number; request < requests; request += clients) {
    std::int32_t const item = request / 2 % items;  // so two clients want it at about the same time
    std::int32_t price = 0;
    server.write_all(bytes_of(item));
    if (!receive(server, price)) return;
    ++answered;
  }
}

void main(int requests) {
  auto const stop = thrum::signals(SIGINT, SIGTERM);
  auto listener = thrum::tcp_listener::listen("127.0.0.1:0");
  thrum::go([&listener] {
    std::error_code error;
    for (auto client = listener.accept(error); !error; client = listener.accept(error))
      thrum::go(serve_client, std::move(client));
  });
  std::string const address = listener.local_endpoint().to_string();
  thrum::wait_group all;
  for (int i = 0; i < clients; ++i) all.go([&address, i, requests] { be_client(address, i, requests); });
  while (answered < requests - 1) thrum::sleep_for(10ms);
  static_cast<void>(all.wait_for(500ms));  // the last one might only be slow
  std::printf("%d of %d requests have an answer\n", answered.load(), requests);
  std::fflush(stdout);
  static_cast<void>(stop.recv());
}

}  // namespace shop

int main(int argc, char** argv) {
  thrum::run([&] { shop::main(argc > 1 ? std::atoi(argv[1]) : 10'000); });
}
