// A fresh example_kv for each test, at P = 1, 2 and 8. Where it was not built, the tests are skipped, visibly.
#pragma once

#include "examples/kv/resp_client.h"
#include "support/child.h"
#include "support/run_at.h"
#include "support/server_process.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {

[[nodiscard]] inline std::filesystem::path example_kv() { return this_program().parent_path() / "example_kv"; }

// Debian puts all of them there.
[[nodiscard]] inline bool is_installed(std::string const& program) {
  return std::filesystem::exists("/usr/bin/" + program);
}

class kv_test : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(example_kv())) GTEST_SKIP() << example_kv() << " was not built";
    server_.emplace(example_kv(), std::vector<std::string>{"--port", "0", "--procs", std::to_string(GetParam())});
    std::string const& line = server_->said();
    ASSERT_EQ(line.rfind("ready on 127.0.0.1:", 0), 0U) << line;
    port_ = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  }
  // None may have died on the way.
  void TearDown() override {
    if (!server_ || ended_) return;
    connect().send("SHUTDOWN");
    EXPECT_EQ(wait(), 0);
  }

  [[nodiscard]] resp_client connect(int receive_bytes = 0) const {
    resp_client one(port_, receive_bytes);
    EXPECT_TRUE(one.is_connected());
    return one;
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  void signal(int number) const { server_->signal(number); }
  // For its end; its exit code.
  int wait() {
    ended_ = true;
    return server_->wait();
  }

  // Waits until INFO has this in it. Each question is an event of its own: no sleeping.
  [[nodiscard]] static bool comes_to_say(resp_client& asked, std::string const& wanted) {
    auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (asked.ask("INFO").find(wanted + "\r\n") == std::string::npos) {
      if (std::chrono::steady_clock::now() > until) return false;
    }
    return true;
  }

 private:
  std::optional<server_process> server_;
  std::uint16_t port_ = 0;
  bool ended_ = false;
};

}  // namespace thrum::test

#define THRUM_KV_AT_EVERY_WIDTH(suite) THRUM_AT_WIDTHS(suite, 1, 2, 8)
