// libcurl's easy handles, as they are, against thrum's own HTTP server.
#include "support/child.h"
#include "support/run_at.h"
#include "support/server_process.h"
#include <thrum/thrum.h>

#include <atomic>
#include <filesystem>
#include <string>

#include <curl/curl.h>
#include <gtest/gtest.h>

namespace thrum::test {
namespace {

std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

class posix_curl : public at_every_width {};
THRUM_AT_WIDTHS(posix_curl, 1, 2, 8);

TEST_P(posix_curl, easy_handles_on_goroutines) {
  auto const program = this_program().parent_path() / "example_http";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "there is no example_http";
  server_process const server(program, {"--port", "0", "--bind", "127.0.0.1"});
  ASSERT_NE(server.port(), 0);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  std::string const url = "http://localhost:" + std::to_string(server.port()) + "/slow?ms=50";
  run([&] {
    constexpr int count = 100;
    std::atomic<int> good{0};
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&] {
        CURL* const easy = curl_easy_init();
        std::string page;
        curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, &page);
        for (int round = 0; round < 3; ++round) {
          page.clear();
          CURLcode const code = curl_easy_perform(easy);
          long status = 0;
          curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
          EXPECT_EQ(code, CURLE_OK) << curl_easy_strerror(code);
          if (code == CURLE_OK && status == 200 && !page.empty()) ++good;
        }
        curl_easy_cleanup(easy);
      });
    }
    all.wait();
    EXPECT_EQ(good, 3 * count);
  });
  curl_global_cleanup();
}

}  // namespace
}  // namespace thrum::test
