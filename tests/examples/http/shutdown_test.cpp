// example_http: how it starts and how it ends.
#include "base/platform.h"
#include "examples/http/client.h"

#include <csignal>

namespace {

using thrum::test::http_answer;
using thrum::test::http_client;
using thrum::test::server_process;
class http_start : public thrum::test::http_server {};

// Idle connections are made before the one that is answered: connections are accepted in their order, and one that was
// not yet when the server stops is reset.
class http_shutdown : public thrum::test::http_server {
 protected:
  void SetUp() override {
    http_server::SetUp();
    if (thrum::rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer keeps a signal back while its thread sleeps";
  }
};

TEST_F(http_shutdown, idle_connections_end_and_so_does_the_server) {
  for (int const number : {SIGTERM, SIGINT}) {
    server_process& server = start();
    http_client fresh = connect();
    http_client used = connect();
    EXPECT_EQ(used.ask(get("/plaintext")).status, 200);
    server.signal(number);
    EXPECT_TRUE(fresh.is_at_end());
    EXPECT_TRUE(used.is_at_end());
    EXPECT_EQ(server.wait(), 0);
    EXPECT_FALSE(http_client(server.port()).is_connected());
  }
}

TEST_F(http_shutdown, a_request_in_flight_is_answered_first) {
  for (char const* const procs : {"1", "2", "8"}) {
    server_process& server = start({"--procs", procs});
    http_client idle = connect();
    http_client client = connect();
    // The first answer tells that the second request has been read.
    EXPECT_EQ(client.ask(get("/plaintext") + get("/slow?ms=300")).status, 200);
    server.signal(SIGTERM);
    EXPECT_TRUE(idle.is_at_end());
    EXPECT_EQ(client.receive().body, "slept 300 ms\n");
    EXPECT_TRUE(client.is_at_end());
    EXPECT_EQ(server.wait(), 0);
  }
}

TEST_F(http_shutdown, a_request_that_is_half_there_may_come_and_is_answered) {
  server_process& server = start();
  http_client idle = connect();
  http_client client = connect();
  EXPECT_EQ(client.ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n").status,
            100);
  server.signal(SIGTERM);
  EXPECT_TRUE(idle.is_at_end());  // the server has begun to stop
  EXPECT_TRUE(client.send("te"));
  http_answer const answer = client.ask("xt");
  EXPECT_EQ(answer.body, "text");
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_TRUE(client.is_at_end());
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(http_shutdown, what_does_not_end_within_the_time_of_grace_is_cut_off) {
  server_process& server = start({"--grace-ms", "100"});
  http_client client = connect();
  EXPECT_EQ(client.ask(get("/plaintext") + get("/slow?ms=600000")).status, 200);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 1);
}

TEST_F(http_shutdown, a_second_signal_ends_it_at_once) {
  server_process& server = start();
  http_client idle = connect();
  http_client client = connect();
  EXPECT_EQ(client.ask(get("/plaintext") + get("/slow?ms=600000")).status, 200);
  server.signal(SIGTERM);
  EXPECT_TRUE(idle.is_at_end());
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), -1);
}

TEST_F(http_start, wrong_arguments_are_answered_with_the_usage) {
  for (char const* const wrong : {"--port", "--port x", "--port 65536", "--port -1", "--procs 0", "--procs 2x",
                                  "--idle-ms 0", "--unknown 1", "8080", "--help", "--bind ''", "--root ''"}) {
    auto const seen = thrum::test::run_program(thrum::test::example_http(), {.arguments = wrong, .environment = ""});
    EXPECT_EQ(seen.code, 2) << wrong;
    EXPECT_TRUE(seen.text.starts_with("usage: example_http ")) << wrong << "\n" << seen.text;
  }
}

TEST_F(http_start, what_cannot_be_served_is_said) {
  auto const program = thrum::test::example_http();
  auto const no_root =
      thrum::test::run_program(program, {.arguments = "--port 0 --root /no/such/dir", .environment = ""});
  EXPECT_EQ(no_root.code, 1);
  EXPECT_NE(no_root.text.find("/no/such/dir"), std::string::npos) << no_root.text;
  std::string const taken = "--port " + std::to_string(start().port());
  EXPECT_EQ(thrum::test::run_program(program, {.arguments = taken, .environment = ""}).code, 1);
}

}  // namespace
