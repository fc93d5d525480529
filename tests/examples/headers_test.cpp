// The examples in the comments of the public headers, as code that is compiled and does what the comment says. Only the
// public headers are used here.
#include <thrum/thrum.h>

#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

TEST(headers, run_h) {
  std::string said;
  int const result = thrum::run(
      [&] {
        thrum::go([&] { said += "hello from a goroutine"; });
        thrum::yield();
      },
      {.max_procs = 1});
  EXPECT_EQ(result, 0);
  EXPECT_EQ(said, "hello from a goroutine");
}

TEST(headers, go_h) {
  thrum::run([] {
    auto answer = thrum::spawn([] { return 6 * 7; });
    EXPECT_EQ(answer.join(), 42);
    thrum::wait_group served;
    served.add(1);
    thrum::go(thrum::stack_size{1U << 20U}, [&] { served.done(); });
    served.wait();
  });
}

TEST(headers, wait_group_h) {
  thrum::run([] {
    std::vector<int> items{1, 2, 3};
    thrum::wait_group all;
    for (auto& item : items) {
      all.go([&] { item *= 2; });
    }
    all.wait();
    EXPECT_EQ(items, (std::vector<int>{2, 4, 6}));
  });
}

TEST(headers, mutex_h) {
  thrum::run([] {
    thrum::mutex m;
    int shared = 0;
    thrum::wait_group all;
    for (int i = 0; i < 100; ++i) {
      all.go([&] {
        std::lock_guard guard(m);
        ++shared;
      });
    }
    all.wait();
    EXPECT_EQ(shared, 100);
  });
}

TEST(headers, once_h) {
  thrum::run([] {
    thrum::once init;
    int loads = 0;
    thrum::wait_group all;
    for (int i = 0; i < 10; ++i) {
      all.go([&] { init.call([&] { ++loads; }); });
    }
    all.wait();
    EXPECT_EQ(loads, 1);
  });
}

TEST(headers, local_h) {
  thrum::run([] {
    thrum::local<int> depth;
    *depth += 1;
    EXPECT_EQ(thrum::spawn([&] { return ++*depth; }).join(), 1);
    EXPECT_EQ(*depth, 1);
  });
}

TEST(headers, defer_h) {
  std::string order;
  {
    thrum::defer first = [&] { order += "second"; };
    thrum::defer second = [&] { order += "first "; };
  }
  EXPECT_EQ(order, "first second");
}

}  // namespace
