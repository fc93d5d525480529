// example_http under load, and with the clients that people have.
#include "examples/http/client.h"
#include "support/scale.h"

#include <fstream>
#include <regex>

#include <sys/resource.h>

namespace {

using thrum::test::http_client;
using thrum::test::outcome;

class http_load : public thrum::test::http_server {
 protected:
  static bool has(std::string const& program) { return thrum::test::run_shell("command -v " + program).code == 0; }
  static std::string address(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }
};

TEST_F(http_load, wrk_sees_no_error) {
  if (!has("wrk")) GTEST_SKIP() << "wrk is not installed";
  std::uint16_t const port = start({"--procs", "2"}).port();
  outcome const seen = thrum::test::run_shell("wrk -t1 -c50 -d1s --timeout 30s " + address(port) + "/plaintext");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text.find("Socket errors"), std::string::npos) << seen.text;
  EXPECT_EQ(seen.text.find("Non-2xx"), std::string::npos) << seen.text;
  std::smatch requests;
  ASSERT_TRUE(std::regex_search(seen.text, requests, std::regex("([0-9]+) requests in"))) << seen.text;
  EXPECT_GE(std::stol(requests[1]), 50);
}

TEST_F(http_load, curl_gets_what_it_asks_for) {
  if (!has("curl")) GTEST_SKIP() << "curl is not installed";
  std::string const folder = testing::TempDir() + "thrum_http_curl_" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/letters.txt") << "abcdefghij";
  std::string const at = address(start({"--root", folder}).port());
  auto const curl = [&](std::string const& words) { return thrum::test::run_shell("curl -sS -m 30 " + words).text; };
  EXPECT_EQ(curl(at + "/plaintext " + at + "/plaintext"), "Hello, World!Hello, World!");
  EXPECT_EQ(curl("--http1.0 " + at + "/plaintext"), "Hello, World!");
  EXPECT_EQ(curl("-d text " + at + "/echo"), "text");
  EXPECT_EQ(curl("-H 'Transfer-Encoding: chunked' -H 'Expect: 100-continue' -d text " + at + "/echo"), "text");
  EXPECT_EQ(curl("-r 2-4 " + at + "/file/letters.txt"), "cde");
  EXPECT_EQ(curl("-o /dev/null -w '%{http_code}' --path-as-is " + at + "/file/../letters.txt"), "403");
  EXPECT_TRUE(curl("-I " + at + "/plaintext").starts_with("HTTP/1.1 200 OK\r\n"));
  std::filesystem::remove_all(folder);
}

// Each waits in a goroutine of its own: threads are those of the scheduler.
TEST_F(http_load, many_slow_answers_at_once_cost_no_threads) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  auto const count = static_cast<std::size_t>(thrum::test::scaled(1000, 50));
  start({"--procs", "2"});
  std::vector<http_client> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(connect());
    EXPECT_TRUE(clients.back().send(get("/slow?ms=300", "Connection: close\r\n")));
  }
  std::string const text = connect().ask(get("/stats")).body;
  std::smatch threads;
  ASSERT_TRUE(std::regex_search(text, threads, std::regex("\nthreads ([0-9]+)\n"))) << text;
  EXPECT_LE(std::stol(threads[1]), 2 * 2 + 8 + static_cast<long>(count) / 8) << text;
  for (http_client& each : clients) {
    EXPECT_EQ(each.receive().body, "slept 300 ms\n");
    EXPECT_TRUE(each.is_at_end());
  }
}

}  // namespace
