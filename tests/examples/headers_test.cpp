// The examples in the comments of the public headers, as code that is compiled and does what the comment says. Only the
// public headers are used here.
#include <thrum/thrum.h>

#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
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

TEST(headers, shared_mutex_h) {
  thrum::run([] {
    thrum::shared_mutex m;
    int table = 0;
    thrum::wait_group all;
    for (int i = 0; i < 10; ++i) {
      all.go([&] {
        std::shared_lock reading(m);
        EXPECT_TRUE(table == 0 || table == 1);
      });
    }
    all.go([&] {
      std::unique_lock writing(m);
      table = 1;
    });
    all.wait();
    EXPECT_EQ(table, 1);
  });
}

TEST(headers, condition_variable_h) {
  thrum::run([] {
    thrum::mutex m;
    thrum::condition_variable changed;
    std::vector<int> queue;
    thrum::wait_group all;
    all.go([&] {
      std::unique_lock lock(m);
      changed.wait(lock, [&] { return !queue.empty(); });
      EXPECT_EQ(queue.front(), 7);
    });
    all.go([&] {
      {
        std::lock_guard guard(m);
        queue.push_back(7);
      }
      changed.notify_one();
    });
    all.wait();
  });
}

TEST(headers, semaphore_h) {
  thrum::run([] {
    thrum::semaphore slots(8);
    thrum::wait_group all;
    for (int i = 0; i < 100; ++i) {
      all.go([&] {
        slots.acquire();
        thrum::defer back = [&] { slots.release(); };
        thrum::yield();
      });
    }
    all.wait();
    EXPECT_TRUE(slots.try_acquire(8));
  });
}

TEST(headers, latch_h) {
  thrum::run([] {
    int prepared[3] = {};
    thrum::latch ready(3);
    for (int i = 0; i < 3; ++i) {
      thrum::go([&, i] {
        prepared[i] = 1;
        ready.count_down();
      });
    }
    ready.wait();
    EXPECT_EQ(prepared[0] + prepared[1] + prepared[2], 3);
  });
}

TEST(headers, barrier_h) {
  thrum::run([] {
    int swaps = 0;
    thrum::barrier step(4, [&]() noexcept { ++swaps; });
    thrum::wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        for (int round = 0; round < 100; ++round) step.arrive_and_wait();
      });
    }
    all.wait();
    EXPECT_EQ(swaps, 100);
  });
}

TEST(headers, once_value_h) {
  thrum::run([] {
    int loads = 0;
    thrum::once_value config([&] {
      ++loads;
      return std::string("config");
    });
    EXPECT_EQ(config(), "config");
    EXPECT_EQ(config(), "config");
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

TEST(headers, context_h) {
  thrum::run([] {
    thrum::context const parent = thrum::context::background();
    thrum::chan<int> jobs;
    thrum::chan<std::string> said;
    {
      auto [ctx, cancel] = thrum::with_cancel(parent);
      thrum::defer at_end = cancel;
      thrum::go([mine = ctx, jobs, said] {
        auto const work = [](std::optional<int>) {};
        thrum::select(thrum::on_recv(jobs, work), thrum::on_recv(mine.done()));
        said.send(mine.err().message());
      });
      EXPECT_FALSE(ctx.err());
    }
    EXPECT_EQ(said.recv(), "context canceled");
  });
}

TEST(headers, process_h) {
  thrum::run([] {
    auto [status, out, err] = thrum::output({"sh", "-c", "echo done; echo why >&2; exit 3"});
    EXPECT_EQ(status.code(), 3);
    EXPECT_EQ(out, "done\n");
    EXPECT_EQ(err, "why\n");

    std::string const numbers = "3\n1\n2\n";
    auto sort = thrum::process::start({"sort", "-n"}, {.in = thrum::stdio::pipe, .out = thrum::stdio::pipe});
    thrum::go([&] {
      sort.in().write_all(numbers);
      sort.in().close();
    });
    std::string bytes(64, '\0');
    std::string sorted;
    while (auto n = sort.out().read_some(bytes)) sorted.append(bytes, 0, n);
    thrum::exit_status how = sort.wait();
    EXPECT_TRUE(how.ok());
    EXPECT_EQ(sorted, "1\n2\n3\n");
  });
}

TEST(headers, group_h) {
  thrum::run([] {
    std::vector<std::string> urls{"a", "b", "bad", "c"};
    auto const fetch = [](thrum::context const& ctx, std::string const& url) {
      ctx.throw_if_done();
      if (url == "bad") throw std::runtime_error(url);
    };
    thrum::context const ctx;
    thrum::group downloads(ctx);
    downloads.limit(8);
    for (auto& url : urls) {
      downloads.go([&] { fetch(downloads.context(), url); });
    }
    EXPECT_THROW(downloads.wait(), std::runtime_error);
  });
}

}  // namespace
