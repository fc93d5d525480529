// Unchanged cpp-httplib with a goroutine for each connection, under the load of wrk, and as a program of threads and of
// goroutines.
#include "posix/httplib/web.h"
#include "posix/many.h"
#include "support/child.h"
#include "support/run_at.h"
#include "support/threads_at_work.h"
#include "support/tries.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <regex>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace thrum::test {
namespace {

class posix_httplib : public at_every_width {};
THRUM_AT_WIDTHS(posix_httplib, 1, 2, 8);

// How many requests wrk has made, if it saw no error. wrk inherits the connections that are open in this process, and
// its table has space for descriptors up to three times the number of its own connections.
long under_wrk(int connections, std::string const& url) {
  std::string const command = "wrk -t1 -d1s --timeout 30s -c" + std::to_string(connections) + " " + url;
  outcome const seen = blocking([&] { return run_shell(command); });
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text.find("Socket errors"), std::string::npos) << seen.text;
  EXPECT_EQ(seen.text.find("Non-2xx"), std::string::npos) << seen.text;
  std::smatch requests;
  if (!std::regex_search(seen.text, requests, std::regex("([0-9]+) requests in"))) return -1;
  return std::stol(requests[1]);
}

TEST_P(posix_httplib, wrk_sees_no_error_of_a_server_with_a_goroutine_for_each_connection) {
  if (run_shell("command -v wrk").code != 0) GTEST_SKIP() << "wrk is not installed";
  run([&] {
    constexpr int connections = 100;
    constexpr int at_once = 17;  // cpp-httplib's own pool has eight threads on most machines
    web server([] { return new goroutine_queue; });
    wait_group all;
    all.go([&] { server.serve(); });
    server.be_slow_until(at_once);
    std::atomic<bool> is_over{false};
    std::atomic<bool> waited_on_few_threads{false};
    wait_group watcher;
    watcher.go([&] {  // main's thread, the first one, and some that have work for a moment
      while (!is_over && !waited_on_few_threads) {
        bool const waited_before = server.slow_now() >= at_once;
        bool const few_work = threads_at_work() <= procs() + 4;
        waited_on_few_threads = waited_before && few_work && server.slow_now() >= at_once;
        sleep_for(std::chrono::milliseconds(1));
      }
    });
    for (char const* const page : {"/hello", "/slow", "/long"}) {
      auto const requests = [&] { return under_wrk(connections, server.address() + page); };
      EXPECT_GT(in_one_of(3, requests, [](long made) { return made > 0; }), 0) << page;  // wrk counts for a second
    }
    is_over = true;
    watcher.wait();
    EXPECT_GE(server.slow_at_once(), at_once);
    EXPECT_TRUE(waited_on_few_threads) << threads_at_work() << " threads work at the end";
    server.stop();
    all.wait();
  });
}

std::string told_by(httplib::Result const& got) {
  if (!got) return "error: " + httplib::to_string(got.error()) + "\n";
  return std::to_string(got->status) + ", " + std::to_string(got->body.size()) + " bytes, " + got->body.substr(0, 60) +
         "\n";
}

// Accepts connections, as the kernel does it, and says nothing.
class silent_server {
 public:
  silent_server() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_, generic, length), 0);
    EXPECT_EQ(::listen(fd_, 1024), 0);
    EXPECT_EQ(::getsockname(fd_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~silent_server() { ::close(fd_); }
  silent_server(silent_server const&) = delete;
  silent_server& operator=(silent_server const&) = delete;
  [[nodiscard]] int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
};

std::string session(int port, int silent_port, int i) {
  httplib::Client client("127.0.0.1", port);
  client.set_keep_alive(i % 2 == 0);
  client.set_connection_timeout(patience_s);
  be_patient(client);
  std::string told;
  told += told_by(client.Get("/hello"));
  told += told_by(client.Get("/number/" + std::to_string(i)));
  told += told_by(client.Get("/none"));
  told += told_by(client.Get("/slow"));
  told += told_by(client.Get("/long"));
  told += told_by(client.Get("/chunks"));
  told += told_by(client.Get("/throws"));
  told += told_by(client.Get("/long", {httplib::make_range_header({{10, 29}})}));
  told += told_by(client.Head("/long"));
  told += told_by(client.Post("/echo", std::string(700'000, 'e') + std::to_string(i), "text/plain"));
  told += told_by(client.Get("/hello", [](char const*, std::size_t) { return false; }));
  told += told_by(client.Get("/hello"));
  httplib::Client impatient("127.0.0.1", silent_port);
  impatient.set_read_timeout(0, 20'000);
  told += told_by(impatient.Get("/hello"));
  httplib::Client to_no_server("127.0.0.1", 1);
  told += told_by(to_no_server.Get("/hello"));
  httplib::Client by_name("localhost", port);
  by_name.set_connection_timeout(patience_s);
  be_patient(by_name);
  told += told_by(by_name.Get("/number/" + std::to_string(i)));
  return told;
}

// The server and its clients.
TEST_P(posix_httplib, goroutines_are_told_what_threads_are_told) {
  constexpr int count = 24;
  silent_server const silent;
  std::vector<std::string> threads;
  {
    web server([] { return new httplib::ThreadPool(3 * count); });
    std::thread listener([&] { server.serve(); });
    threads = on_threads(count, [&](int i) { return session(server.port(), silent.port(), i); });
    server.stop();
    listener.join();
  }
  std::vector<std::string> goroutines;
  run([&] {
    web server([] { return new goroutine_queue; });
    wait_group all;
    all.go([&] { server.serve(); });
    goroutines = on_goroutines(count, [&](int i) { return session(server.port(), silent.port(), i); });
    server.stop();
    all.wait();
  });
  expect_alike(goroutines, threads);
}

}  // namespace
}  // namespace thrum::test
