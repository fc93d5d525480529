// OpenSSL on goroutines: errors that belong to threads, and stacks that are short.
#include "support/run_at.h"
#include "support/scale.h"
#include "tls/streams.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/err.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define THRUM_TEST_STACKS_ARE_LARGER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define THRUM_TEST_STACKS_ARE_LARGER 1
#endif
#endif

namespace thrum {
namespace {

using test::scaled;

class tls_moves : public test::at_every_width {};
THRUM_AT_WIDTHS(tls_moves, 1, 2, 8);

// Each goroutine fails in its own way and parks repeatedly in the middle of its handshake, while other goroutines leave
// errors in the error queue of the thread on which it wakes.
TEST_P(tls_moves, T08_failures_of_many_goroutines_do_not_mix) {
  run([] {
    struct failure {
      tls_context server;
      tls_errc why;
    };
    auto const make = [](test::wish const& wanted, test::papers_of const* issuer, tls_errc why) {
      return failure{tls_context::server({.identities = {test::issue(wanted, issuer).files}}), why};
    };
    std::array<failure, 4> const failures{
        make({.names = "DNS:elsewhere"}, &test::authority(), tls_errc::wrong_host),
        make({.from_s = -7200, .until_s = -3600}, &test::authority(), tls_errc::expired),
        make({}, nullptr, tls_errc::self_signed),
        make({.from_s = 86400, .until_s = 172800}, &test::authority(), tls_errc::not_yet_valid),
    };
    auto const client = test::good_client();
    std::atomic<bool> stop{false};
    auto noise = spawn([&] {
      while (!stop) {
        ERR_put_error(ERR_LIB_SSL, 0, ERR_R_INTERNAL_ERROR, "noise", 1);
        yield();
      }
    });
    wait_group all;
    for (std::size_t i = 0; i < 16; ++i) {
      all.go([&, i] {
        failure const& mine = failures[i % failures.size()];
        for (std::int64_t round = scaled(8, 3); round > 0; --round) {
          auto both = test::quiet_pair(client, mine.server);
          auto const seen = test::shake_hands(both);
          EXPECT_EQ(seen.client, mine.why) << seen.client.message();
          EXPECT_NE(seen.server.message().find("alert"), std::string::npos) << seen.server.message();
        }
      });
    }
    // An error that other code left in OpenSSL's queue must not be taken for the error of a read that only has to wait.
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        test::tls_pair both = test::ready_pair();
        auto server = spawn([&] { return test::answer_all(both.server); });
        std::array<char, 5> bytes{};
        for (std::int64_t round = scaled(20, 5); round > 0; --round) {
          both.client.write_all("hello");
          EXPECT_EQ(both.client.read_full(bytes), bytes.size());
        }
        both.client.close();
        EXPECT_FALSE(server.join());
      });
    }
    all.wait();
    stop = true;
    noise.join();
  });
}

#if !defined(THRUM_TEST_STACKS_ARE_LARGER)

constexpr unsigned char paint = 0xA5;
constexpr std::size_t painted_bytes = 192 * 1024;

[[gnu::noinline]] std::uintptr_t paint_the_stack_below() {
  unsigned char area[painted_bytes];
  std::memset(area, paint, sizeof area);
  auto lowest = reinterpret_cast<std::uintptr_t>(area);
  asm volatile("" : "+r"(lowest) : : "memory");  // the compiler does not know what it is
  return lowest;
}

[[gnu::noinline]] std::size_t used_of(std::uintptr_t lowest) {
  auto const* const area = reinterpret_cast<unsigned char const volatile*>(lowest);
  std::size_t untouched = 0;
  while (untouched < painted_bytes && area[untouched] == paint) ++untouched;
  return painted_bytes - untouched;
}

std::size_t stack_of_a_conversation(tls_stream& stream, bool speaks_first) {
  std::uintptr_t const lowest = paint_the_stack_below();
  stream.handshake();
  std::string text(100'000, 't');
  if (speaks_first) {
    stream.write_all(text);
    EXPECT_EQ(stream.read_full(text), text.size());
  } else {
    EXPECT_EQ(stream.read_full(text), text.size());
    stream.write_all(text);
  }
  stream.close();
  return used_of(lowest);
}

// What <thrum/tls.h> says of stacks. Both sides verify.
TEST(tls_stacks, T01_openssl_needs_a_small_part_of_a_goroutines_stack) {
  test::run_at(2, [] {
    auto first = spawn([] {  // OpenSSL sets itself up
      std::uintptr_t const lowest = paint_the_stack_below();
      static_cast<void>(tls_context::client());
      return used_of(lowest);
    });
    std::size_t const setting_up_bytes = first.join();
    std::printf("setting up: %zu bytes\n", setting_up_bytes);
    EXPECT_LT(setting_up_bytes, 48U * 1024);
    for (char const* const key : {"RSA", "EC", "ED25519"}) {
      auto const papers = test::issue({.key = key}, &test::authority());
      auto const server = tls_context::server({.identities = {papers.files}, .client_roots_file = test::roots()});
      auto const client = tls_context::client({.roots_file = test::roots(), .identity = papers.files});
      auto both = test::quiet_pair(client, server);
      auto at_server = spawn([&] { return stack_of_a_conversation(both.server, false); });
      auto at_client = spawn([&] { return stack_of_a_conversation(both.client, true); });
      std::size_t const client_bytes = at_client.join();
      std::size_t const server_bytes = at_server.join();
      std::printf("%s: the client's stack %zu bytes, the server's %zu\n", key, client_bytes, server_bytes);
      EXPECT_LT(client_bytes, 48U * 1024);
      EXPECT_LT(server_bytes, 48U * 1024);
      EXPECT_GT(client_bytes, 1024U);  // it was measured
    }
  });
}

#endif

TEST(tls_stacks, T01_a_handshake_fits_on_a_stack_of_64_KiB) {
#if defined(THRUM_TEST_STACKS_ARE_LARGER)
  GTEST_SKIP() << "the sanitizer makes frames larger";
#else
  test::run_at(2, [] {
    auto both = test::quiet_pair(test::good_client(), test::good_server());
    wait_group all;
    all.add(2);
    go(stack_size{64 * 1024}, [&] {
      both.server.handshake();
      all.done();
    });
    go(stack_size{64 * 1024}, [&] {
      both.client.handshake();
      all.done();
    });
    all.wait();
  });
#endif
}

}  // namespace
}  // namespace thrum
