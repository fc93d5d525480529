// The bench program on Asio: the echo server as C++20 coroutines, one per connection. As many threads as there are
// procs are in io_context::run.
#include "../echo_load.h"

#include <array>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <asio.hpp>

namespace {

using asio::ip::tcp;
using bench::workload;

asio::io_context* running = nullptr;  // global, because the workloads' functions have no argument

// Errors as values, as in the programs for thrum and Go.
auto into(asio::error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

asio::awaitable<void> answer(tcp::socket connection) {
  std::array<char, 4096> bytes;
  asio::error_code error;
  for (;;) {
    std::size_t const n = co_await connection.async_read_some(asio::buffer(bytes), into(error));
    if (error) {
      co_return;
    }
    co_await asio::async_write(connection, asio::buffer(bytes, n), into(error));
    if (error) {
      co_return;
    }
  }
}

// Ends with the context.
asio::awaitable<void> serve(tcp::acceptor acceptor) {
  for (;;) {
    asio::error_code error;
    tcp::socket connection = co_await acceptor.async_accept(into(error));
    if (error) {
      co_return;
    }
    connection.set_option(tcp::no_delay(true));  // the other runtimes do this by default
    asio::co_spawn(*running, answer(std::move(connection)), asio::detached);
  }
}

std::vector<bench::figure> echo_with(int connections) {
  bench::allow_many_files();
  tcp::acceptor acceptor(*running, {asio::ip::address_v4::loopback(), 0});
  unsigned const port = acceptor.local_endpoint().port();
  asio::co_spawn(*running, serve(std::move(acceptor)), asio::detached);
  return bench::run_echo_client(port, connections).figures();
}

constexpr std::array workloads{
    workload{"echo", [] { return echo_with(100); }},
    workload{"echo_5000", [] { return echo_with(5'000); }},
};

// The body has this thread to itself and waits for the client here.
template <class Body>
void with_threads(int procs, Body const& body) {
  asio::io_context context(procs);  // with 1 the context can leave out locks
  auto const keeps_running = asio::make_work_guard(context);
  running = &context;
  std::vector<std::thread> threads;
  for (int i = 0; i < procs; ++i) {
    threads.emplace_back([&] { context.run(); });
  }
  body();
  context.stop();
  for (std::thread& each : threads) {
    each.join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string const version = "Asio " + std::to_string(ASIO_VERSION / 100'000) + '.' +
                              std::to_string(ASIO_VERSION / 100 % 1'000) + '.' + std::to_string(ASIO_VERSION % 100);
  return bench::command(argc, argv, version, workloads, [](int procs, auto const& body) { with_threads(procs, body); });
}
