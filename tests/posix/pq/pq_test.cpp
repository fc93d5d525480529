// Unchanged libpq with hundreds of goroutines in slow queries. Debian's libpq keeps the address of errno across recv
// (T08).
#include "os/clock.h"
#include "posix/pq/postgres.h"
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/thrum.h>

#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

// What one takes alone says what all would take in turn.
TEST(posix_pq, T08_five_hundred_goroutines_wait_for_their_queries_at_once_at_two_ps) {
  THRUM_WITH_POSTGRES(server);
  run_at(2, [&] {
    auto const count = static_cast<int>(scaled(500, 100));
    std::atomic<int> good{0};
    latch connected(count);
    latch start(1);
    wait_group all;
    std::string const slow = "select pg_sleep(0.2), ";
    for (int i = 0; i < count; ++i) {
      all.go([&, i] {
        connection const c(server.where());
        EXPECT_TRUE(c.is_good()) << c.error();
        connected.count_down();
        start.wait();
        result const r(PQexec(c.get(), (slow + std::to_string(i)).c_str()));
        if (told_by(r) == "1 rows  " + std::to_string(i) + "\n") ++good;
      });
    }
    connected.wait();
    connection const alone(server.where());
    std::int64_t const before_ns = rt::os::monotonic_ns();
    EXPECT_EQ(told_by(result(PQexec(alone.get(), (slow + "'alone'").c_str()))), "1 rows  alone\n");
    std::int64_t const one_ns = rt::os::monotonic_ns() - before_ns;
    start.count_down();
    all.wait();
    std::int64_t const all_ns = rt::os::monotonic_ns() - before_ns - one_ns;
    EXPECT_EQ(good, count);
    EXPECT_LT(all_ns, one_ns * count / 10);
    EXPECT_LT(num_threads(), count);
  });
}

class posix_pq : public at_every_width {};
THRUM_AT_WIDTHS(posix_pq, 1, 2, 8);

// A connection pool, as servers have it. A goroutine takes a connection for a query, and the next goroutine that takes
// the connection may be on another thread.
void ask_ten_thousand_times(std::string const& where, bool with_tls) {
  constexpr int connections = 100;
  constexpr int goroutines = 400;
  auto const queries_each = static_cast<int>(scaled(10'000, 2'000) / goroutines);
  chan<connection*> free(connections);
  std::atomic<int> good{0};
  wait_group all;
  for (int i = 0; i < connections; ++i) {
    all.go([&] {
      auto* const c = new connection(where);
      EXPECT_TRUE(c->is_good()) << c->error();
      EXPECT_EQ(PQsslInUse(c->get()) != 0, with_tls);
      free.send(c);
    });
  }
  for (int i = 0; i < goroutines; ++i) {
    all.go([&, i] {
      for (int round = 0; round < queries_each; ++round) {
        connection* const c = *free.recv();
        int const n = i * queries_each + round;
        int const rows = n % 50 == 0 ? 3000 : 1 + n % 5;  // some are more than a socket's buffer holds
        std::string const number = std::to_string(n);
        std::string const length = std::to_string(rows);
        char const* const values[] = {number.c_str(), length.c_str()};
        char const* const query =
            "select $1::int * 2, repeat('abc', $1::int % 7), g from generate_series(1, $2::int) g";
        result const r(PQexecParams(c->get(), query, 2, nullptr, values, nullptr, nullptr, 0));
        std::string expected = length + " rows " + std::to_string(n * 2) + " ";
        for (int part = 0; part < n % 7; ++part) expected += "abc";
        EXPECT_EQ(told_by(r), expected + " 1\n") << c->error();
        if (told_by(r) == expected + " 1\n") ++good;
        free.send(c);
      }
    });
  }
  all.wait();
  EXPECT_EQ(good, goroutines * queries_each);
  for (int i = 0; i < connections; ++i) delete *free.recv();
}

TEST_P(posix_pq, T08_ten_thousand_queries_on_a_hundred_connections) {
  THRUM_WITH_POSTGRES(server);
  run([&] { ask_ten_thousand_times(server.where(), false); });
}

TEST_P(posix_pq, T08_ten_thousand_queries_on_a_hundred_connections_with_tls) {
  THRUM_WITH_POSTGRES(server);
  run([&] { ask_ten_thousand_times(server.where_with_tls(), true); });
}

}  // namespace
}  // namespace thrum::test
