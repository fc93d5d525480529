// hiredis, as it is: blocking commands of many goroutines on few threads, pipelines, and messages that come unasked.
#include "posix/hiredis/redis.h"
#include "support/child.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/threads_at_work.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <string>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class posix_hiredis : public at_every_width {};
THRUM_AT_WIDTHS(posix_hiredis, 1, 2, 8);

TEST_P(posix_hiredis, two_hundred_goroutines_wait_in_blocking_commands) {
  THRUM_WITH_REDIS(server);
  run([&] {
    constexpr int count = 200;
    std::atomic<int> waiting{0};
    std::atomic<int> good{0};
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&] {
        redis_connection const c(server);
        ASSERT_TRUE(c.is_good());
        EXPECT_EQ(command(c.get(), "PING"), "PONG");
        ++waiting;
        if (command(c.get(), "BLPOP list 0") == "[list item]") ++good;  // until a client pushes an item
      });
    }
    EXPECT_TRUE(wait_until([&] { return waiting == count; }));
    redis_connection const c(server);
    ASSERT_TRUE(c.is_good());
    EXPECT_TRUE(
        wait_until([&] { return command(c.get(), "INFO clients").find("blocked_clients:200") != std::string::npos; }));
    EXPECT_TRUE(few_threads_work(procs() + 4)) << threads_at_work();
    for (int i = 0; i < count; ++i) command(c.get(), "RPUSH list item");
    all.wait();
    EXPECT_EQ(good, count);
  });
}

// More than sockets hold, to and fro: all is written before the first answer is read.
TEST_P(posix_hiredis, pipelines_of_many_goroutines) {
  THRUM_WITH_REDIS(server);
  run([&] {
    constexpr int count = 50;
    auto const length = static_cast<int>(scaled(1000, 200));
    std::string const filling(1500, 'x');
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&, i] {
        redis_connection const c(server);
        ASSERT_TRUE(c.is_good());
        for (int n = 0; n < length; ++n) {
          redisAppendCommand(c.get(), "ECHO %s_%d_%d", filling.c_str(), i, n);
          redisAppendCommand(c.get(), "INCR sum");
        }
        long last = 0;
        for (int n = 0; n < length; ++n) {
          EXPECT_EQ(next_reply(c.get()), filling + "_" + std::to_string(i) + "_" + std::to_string(n));
          long const sum = std::stol(next_reply(c.get()));
          EXPECT_GT(sum, last);
          last = sum;
        }
      });
    }
    all.wait();
    redis_connection const c(server);
    EXPECT_EQ(command(c.get(), "GET sum"), std::to_string(count * length));
  });
}

TEST_P(posix_hiredis, subscribers_get_each_message_in_order) {
  THRUM_WITH_REDIS(server);
  run([&] {
    constexpr int subscribers = 50;
    auto const messages = static_cast<int>(scaled(500, 100));
    std::atomic<int> subscribed{0};
    std::atomic<long> got{0};
    wait_group all;
    for (int i = 0; i < subscribers; ++i) {
      all.go([&, i] {
        redis_connection const c(server);
        ASSERT_TRUE(c.is_good());
        EXPECT_EQ(told_by(c.get(), redisCommand(c.get(), "SUBSCRIBE news only_%d", i)), "[subscribe news 1]");
        EXPECT_EQ(next_reply(c.get()), "[subscribe only_" + std::to_string(i) + " 2]");
        ++subscribed;
        for (int n = 0; n < messages; ++n) {
          EXPECT_EQ(next_reply(c.get()), "[message news " + std::to_string(n) + "]");
          ++got;
        }
        EXPECT_EQ(next_reply(c.get()), "[message only_" + std::to_string(i) + " end]");
        EXPECT_EQ(command(c.get(), "UNSUBSCRIBE news"), "[unsubscribe news 1]");
      });
    }
    EXPECT_TRUE(wait_until([&] { return subscribed == subscribers; }));
    redis_connection const c(server);
    for (int n = 0; n < messages; ++n) {
      EXPECT_EQ(told_by(c.get(), redisCommand(c.get(), "PUBLISH news %d", n)), std::to_string(subscribers));
    }
    for (int i = 0; i < subscribers; ++i) {
      EXPECT_EQ(told_by(c.get(), redisCommand(c.get(), "PUBLISH only_%d end", i)), "1");
    }
    all.wait();
    EXPECT_EQ(got, long{subscribers} * messages);
  });
}

}  // namespace
}  // namespace thrum::test
