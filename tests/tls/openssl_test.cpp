// Speaking with OpenSSL's own programs.
#include "support/child.h"
#include "support/run_at.h"
#include "tls/streams.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

bool openssl_is_here() { return std::system("command -v openssl >/dev/null 2>&1") == 0; }
#define THRUM_NEEDS_OPENSSL() \
  if (!openssl_is_here()) GTEST_SKIP() << "the program openssl is not installed"

class with_openssl : public test::at_every_width {};
THRUM_AT_WIDTHS(with_openssl, 1, 2, 8);

// Runs a command line of the shell. The program `timeout` ends it if nothing else does.
test::outcome run_shell(std::string const& words) {
  return blocking(
      [&] { return test::run_program("/bin/sh", {.arguments = "-c \"" + words + "\"", .environment = ""}); },
      blocking_hint::long_call);
}

// Serves one connection with an echo of what comes first, while s_client says "hello".
struct conversation {
  std::string client_printed;
  std::error_code server_error;
  std::string version;
  std::string protocol;
  std::string server_name;
};
conversation with_s_client(std::string const& options) {
  conversation seen;
  auto listener = tcp_listener::listen("127.0.0.1:0");
  auto server = spawn([&] {
    auto const context =
        tls_context::server({.identities = {test::good_papers().files}, .protocols = {"h2", "http/1.1"}});
    auto conn = tls_stream::server(listener.accept(), context);
    conn.set_deadline(1min);
    std::array<char, 64> bytes{};
    std::size_t const n = conn.read_some(bytes, seen.server_error);
    if (!seen.server_error) conn.write_all("you said: " + std::string(bytes.data(), n));
    seen.version = conn.version();
    seen.protocol = conn.protocol();
    seen.server_name = conn.server_name();
    conn.close();
  });
  std::string const port = std::to_string(listener.local_endpoint().port());
  seen.client_printed =
      run_shell("echo hello | timeout 60 openssl s_client -quiet -connect 127.0.0.1:" + port + " -CAfile " +
                test::roots() + " -verify_return_error -verify_hostname localhost " + options)
          .text;
  server.join();
  return seen;
}

TEST_P(with_openssl, TLS_s_client_is_served) {
  THRUM_NEEDS_OPENSSL();
  run([] {
    auto seen = with_s_client("-servername localhost -alpn http/1.1,h2");
    EXPECT_FALSE(seen.server_error) << seen.server_error.message();
    EXPECT_NE(seen.client_printed.find("you said: hello"), std::string::npos) << seen.client_printed;
    EXPECT_EQ(seen.client_printed.find("error"), std::string::npos)
        << seen.client_printed;  // such as an unexpected end
    EXPECT_EQ(seen.version, "TLSv1.3");
    EXPECT_EQ(seen.protocol, "h2");
    EXPECT_EQ(seen.server_name, "localhost");
    seen = with_s_client("-tls1_2 -noservername");
    EXPECT_NE(seen.client_printed.find("you said: hello"), std::string::npos) << seen.client_printed;
    EXPECT_EQ(seen.version, "TLSv1.2");
    EXPECT_EQ(seen.server_name, "");
  });
}

TEST_P(with_openssl, TLS_older_versions_are_refused) {
  THRUM_NEEDS_OPENSSL();
  run([] {
    auto const seen = with_s_client("-tls1_1 -cipher DEFAULT@SECLEVEL=0");
    EXPECT_NE(seen.server_error.message().find("unsupported protocol"), std::string::npos)
        << seen.server_error.message() << "\n"
        << seen.client_printed;
    EXPECT_EQ(seen.client_printed.find("you said"), std::string::npos);
  });
}

// openssl s_server on a port of its own, which turns every line round.
class s_server {
 public:
  explicit s_server(std::string const& options) {
    int ends[2]{};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    tls_identity const& who = test::good_papers().files;
    std::string const words = "exec timeout 60 openssl s_server -rev -accept 127.0.0.1:0 -cert " + who.chain_file +
                              " -key " + who.key_file + " " + options + " </dev/null 2>&1";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::array<char const*, 4> const argv{"sh", "-c", words.c_str(), nullptr};
    EXPECT_EQ(::posix_spawn(&child_, "/bin/sh", &actions, nullptr, const_cast<char* const*>(argv.data()), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = fd(ends[0]);
    output_.set_deadline(1min);
    for (std::string text; address_.empty();) {
      char byte = 0;
      if (output_.read_some({&byte, 1}) == 0) break;
      if (byte != '\n') {
        text += byte;
      } else if (auto const at = text.find("ACCEPT "); at != std::string::npos) {
        address_ = text.substr(at + 7);
      } else {
        text.clear();
      }
    }
    EXPECT_FALSE(address_.empty());
  }
  ~s_server() {
    ::kill(child_, SIGTERM);
    blocking([this] { ::waitpid(child_, nullptr, 0); }, blocking_hint::long_call);
  }
  s_server(s_server const&) = delete;
  s_server& operator=(s_server const&) = delete;

  [[nodiscard]] std::string const& address() const { return address_; }

 private:
  pid_t child_ = -1;
  fd output_;
  std::string address_;
};

TEST_P(with_openssl, TLS_s_server_serves_us) {
  THRUM_NEEDS_OPENSSL();
  run([] {
    for (std::string const version : {"TLSv1.3", "TLSv1.2"}) {
      s_server const server(version == "TLSv1.2" ? "-tls1_2" : "-alpn h2");
      auto conn = tls_stream::dial(server.address(),
                                   tls_context::client({.roots_file = test::roots(), .protocols = {"h2"}}), 1min);
      conn.set_deadline(1min);
      EXPECT_EQ(conn.version(), version);
      EXPECT_EQ(conn.protocol(), version == "TLSv1.3" ? "h2" : "");
      std::string heard(6, '\0');
      for (int i = 0; i < 3; ++i) {
        conn.write_all("hello\n");
        EXPECT_EQ(conn.read_full(heard), heard.size());
        EXPECT_EQ(heard, "olleh\n");
      }
      conn.close();
      std::error_code error;
      auto refused = tls_stream::dial(server.address(), tls_context::client(), 1min, error);
      EXPECT_EQ(error, tls_errc::unknown_authority) << error.message();
    }
  });
}

}  // namespace
}  // namespace thrum
