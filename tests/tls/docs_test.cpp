// The code about TLS in docs/network.md, as it stands there (tools/code_of_document), does what is said there.
#include "tls/certificates.h"
#include <thrum/thrum.h>
#include <thrum/tls.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
#include "code/network_tls.h"

#include <gtest/gtest.h>

namespace {

TEST(documents, tls) {
  thrum::run([] {
    auto const context = context_of_server({thrum::test::good_papers().files});
    auto listener = thrum::tcp_listener::listen("127.0.0.1:0");
    auto served = thrum::spawn([&] { echo_in_secret(listener.accept(), context); });
    auto const trust = thrum::tls_context::client({.roots_file = thrum::test::roots(), .protocols = {"echo/1"}});
    EXPECT_EQ(ask_in_secret(listener.local_endpoint().to_string(), "hello", trust), "hello");
    served.join();
  });
}

}  // namespace
