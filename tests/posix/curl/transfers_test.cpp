// libcurl's easy handles, as they are, with nginx: a thousand at once, and a program as threads and as goroutines.
#include "posix/curl/easy.h"
#include "posix/curl/nginx.h"
#include "posix/many.h"
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/thrum.h>

#include <atomic>
#include <string>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class posix_curl_transfers : public at_every_width {
 protected:
  static void SetUpTestSuite() {
    allow_all_descriptors();
    curl_global_init(CURL_GLOBAL_DEFAULT);
  }
  static void TearDownTestSuite() { curl_global_cleanup(); }
};
THRUM_AT_WIDTHS(posix_curl_transfers, 1, 2, 8);

// Some in an instant, some as slowly as nginx sends: a goroutine and an easy handle for each.
TEST_P(posix_curl_transfers, a_thousand_at_once) {
  THRUM_WITH_NGINX(server);
  run([&] {
    auto const count = static_cast<int>(scaled(1000, 200));
    std::atomic<int> good{0};
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&, i] {
        easy one;
        bool const is_slow = i % 4 == 0;
        int const file = is_slow ? 9 : i % nginx::files;
        CURLcode const code = one.get(server.address() + (is_slow ? "/slow/" : "/") + std::to_string(file));
        EXPECT_EQ(code, CURLE_OK) << curl_easy_strerror(code);
        EXPECT_EQ(one.status(), 200);
        if (one.page() == nginx::content(file)) ++good;
      });
    }
    all.wait();
    EXPECT_EQ(good, count);
    // There is not one thread for each goroutine. But on a busy machine some goroutines are paused in the middle of a
    // page, and some sleep for the kernel's lock of the process's memory, which malloc needs to get more. Both keep
    // their threads.
    EXPECT_LT(num_threads(), count);
  });
}

std::size_t take_nothing(char*, std::size_t, std::size_t, void*) { return 0; }

std::string session(nginx const& server, int i) {
  easy one;
  std::string told;
  auto const get = [&](std::string const& path) {
    CURLcode const code = one.get(server.address() + path);
    told += path + ": " + curl_easy_strerror(code) + ", " + std::to_string(one.status()) + ", " +
            std::to_string(one.page().size()) + " bytes, " + one.page().substr(0, 60) + "\n";
  };
  std::string const number = std::to_string(i % nginx::files);
  get("/" + number);
  get("/none");
  get("/refused");
  get("/nothing");
  get("/said?by=" + number);
  get("/moved");
  one.set(CURLOPT_FOLLOWLOCATION, 1L);
  get("/moved");
  one.set(CURLOPT_RANGE, "5-14");
  get("/3");
  one.set(CURLOPT_RANGE, static_cast<char const*>(nullptr));
  std::string const posted(300'000, 'p');
  one.set(CURLOPT_POSTFIELDSIZE, static_cast<long>(posted.size()));
  one.set(CURLOPT_POSTFIELDS, posted.c_str());
  get("/said?posted");
  one.set(CURLOPT_HTTPGET, 1L);
  one.set(CURLOPT_NOBODY, 1L);
  get("/15");
  one.set(CURLOPT_NOBODY, 0L);
  one.set(CURLOPT_HTTPGET, 1L);
  curl_slist* const word = curl_slist_append(nullptr, "X-Word: here");
  one.set(CURLOPT_HTTPHEADER, word);
  get("/said");
  one.set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
  curl_slist_free_all(word);
  get("/slow/8");

  // Transfers that end too early: by a timeout, by the reader, and because there is no server.
  easy early;
  early.set(CURLOPT_TIMEOUT_MS, 100L);
  told += std::string(curl_easy_strerror(early.get(server.address() + "/slow/15"))) + "\n";
  early.set(CURLOPT_TIMEOUT_MS, 0L);
  told += std::string(curl_easy_strerror(early.get("http://127.0.0.1:1/"))) + "\n";
  early.set(CURLOPT_WRITEFUNCTION, &take_nothing);
  told += std::string(curl_easy_strerror(early.get(server.address() + "/3"))) + "\n";
  return told;
}

TEST_P(posix_curl_transfers, goroutines_are_told_what_threads_are_told) {
  THRUM_WITH_NGINX(server);
  told_alike(procs(), 24, [&](int i) { return session(server, i); });
}

}  // namespace
}  // namespace thrum::test
