// The examples in the comments of the public headers, as code that is compiled and does what the comment says. Only the
// public headers are used here. Those of the network are in net_headers_test.cpp, those of TLS in tests/tls.
#include <thrum/thrum.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace {

// A handle as users write them. Its allocations on the heap are counted.
class my_handle {
 public:
  explicit my_handle(int number) noexcept : number_(number) {}
  my_handle(my_handle&& other) noexcept : number_(std::exchange(other.number_, 0)) {}
  my_handle& operator=(my_handle&& other) noexcept {
    number_ = std::exchange(other.number_, 0);
    return *this;
  }
  ~my_handle() { number_ = -1; }
  [[nodiscard]] int number() const noexcept { return number_; }

  static inline int boxes = 0;
  static void* operator new(std::size_t bytes) {
    ++boxes;
    return ::operator new(bytes);
  }
  static void* operator new(std::size_t, void* at) noexcept { return at; }
  static void operator delete(void* at) noexcept { ::operator delete(at); }

 private:
  int number_;
};

}  // namespace

template <>
inline constexpr bool thrum::is_relocatable<my_handle> = true;

namespace {

using namespace std::chrono_literals;

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
    thrum::chan<int> go_on;
    auto late = thrum::spawn([=] { static_cast<void>(go_on.recv()); });
    EXPECT_FALSE(late.join_until(thrum::clock::now() + 1ms));
    go_on.close();
    EXPECT_TRUE(late.join_until(std::chrono::system_clock::now() + 1min));
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

TEST(headers, chan_h) {
  thrum::run([] {
    int sum = 0;
    thrum::chan<int> squares(16);
    thrum::go([=]() mutable {
      for (int i = 0; i < 100; ++i) squares.send(i * i);
      squares.close();
    });
    for (int square : squares) sum += square;
    EXPECT_EQ(sum, 328'350);

    thrum::chan<my_handle> handles(1);
    handles.send(my_handle(7));
    EXPECT_EQ(handles.recv()->number(), 7);
    EXPECT_EQ(my_handle::boxes, 0) << "it has travelled in a box";
  });
}

TEST(headers, select_h) {
  thrum::run([] {
    thrum::chan<int> jobs(1);
    thrum::chan<int> results(1);
    std::string done;
    auto const turn = [&] {
      thrum::select(thrum::on_recv(jobs, [&](std::optional<int> next) { done += next ? "job " : "closed "; }),
                    thrum::on_send(results, 7, [&] { done += "result "; }), thrum::otherwise([&] { done += "none "; }));
    };
    turn();  // there is no job yet, and room for a result
    turn();  // nor for another one
    jobs.send(1);
    turn();
    jobs.close();
    turn();
    EXPECT_EQ(done, "result none job closed ");
    thrum::chan<int> silent;
    thrum::select(thrum::on_recv(silent), thrum::on_timeout(1ms, [&] { done = "late"; }));
    EXPECT_EQ(done, "late");
  });
}

TEST(headers, on_stop_h) {
  thrum::run([] {
    thrum::chan<int> jobs(1);
    std::stop_source source;
    int worked = 0;
    bool finished = false;
    auto const work = [&](std::optional<int> next) { worked += *next; };
    auto const turn = [&, token = source.get_token()] {
      thrum::select(thrum::on_recv(jobs, work), thrum::on_stop(token, [&] { finished = true; }));
    };
    jobs.send(7);
    turn();
    EXPECT_EQ(worked, 7);
    EXPECT_FALSE(finished);
    std::jthread const elsewhere([&] { source.request_stop(); });
    turn();
    EXPECT_TRUE(finished);
  });
}

TEST(headers, timer_h) {
  thrum::run([] {
    auto const start = thrum::clock::now();
    thrum::chan<int> results;
    bool gave_up = false;
    thrum::timer limit(5ms);
    thrum::select(thrum::on_recv(results), thrum::on_recv(limit.c(), [&](auto) { gave_up = true; }));
    EXPECT_TRUE(gave_up);

    int ticks = 0;
    thrum::ticker tick(1ms);
    for (thrum::clock::time_point due : tick.c()) {
      EXPECT_GE(due, start + 6ms);
      if (++ticks == 3) break;
    }

    auto due = thrum::after(1ms).recv();
    ASSERT_TRUE(due.has_value());
    EXPECT_LE(*due, thrum::clock::now());
  });
}

TEST(headers, sleep_h) {
  thrum::run([] {
    auto const start = thrum::clock::now();
    thrum::sleep_for(200us);
    EXPECT_GE(thrum::clock::now(), start + 200us);
    for (int i = 1; i <= 3; ++i) thrum::sleep_until(start + i * 1ms);
    EXPECT_GE(thrum::clock::now(), start + 3ms);
  });
}

TEST(headers, after_func_h) {
  thrum::run([] {
    thrum::wait_group said;
    said.add(1);
    thrum::after_func(1ms, [&] { said.done(); });
    said.wait();

    thrum::chan<int> gave_up(1);
    auto alarm = thrum::after_func(1h, [=]() mutable { gave_up.send(1); });
    EXPECT_TRUE(alarm.stop());
    EXPECT_FALSE(alarm.stop());
    alarm.reset(1ms);
    EXPECT_EQ(gave_up.recv(), 1);
    EXPECT_FALSE(alarm.stop()) << "it has been started";
  });
}

TEST(headers, blocking_h) {
  thrum::run([] {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    thrum::go([&] { EXPECT_EQ(thrum::blocking([&] { return ::write(ends[1], "x", 1); }), 1); });
    char byte = 0;
    ssize_t n = thrum::blocking([&] { return ::read(ends[0], &byte, 1); });
    EXPECT_EQ(n, 1);
    thrum::blocking([&] { ::close(ends[0]); }, thrum::blocking_hint::long_call);
    {
      thrum::blocking_scope const waits;
      ::close(ends[1]);
    }
  });
}

TEST(headers, runtime_h) {
  thrum::run(
      [] {
        thrum::wait_group never;
        never.add(1);
        thrum::go([&] { never.wait(); });
        while (thrum::read_stats().waiting == 0) thrum::yield();
        EXPECT_EQ(thrum::num_goroutines(), 2);

        int const before = thrum::set_max_procs(2);
        EXPECT_EQ(before, 3);
        EXPECT_EQ(thrum::max_procs(), 2);
        {
          thrum::os_thread_lock const here;
          auto const thread = std::this_thread::get_id();
          thrum::yield();
          EXPECT_EQ(std::this_thread::get_id(), thread);
        }
      },
      {.max_procs = 3});
}

// What `write` writes to a file.
template <class Write>
std::string text_of_file(Write write) {
  std::FILE* const file = std::tmpfile();
  write(file);
  std::rewind(file);
  std::string text(8192, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(headers, dump_h) {
  thrum::run([] {
    thrum::wait_group never;
    never.add(1);
    thrum::go([&] { never.wait(); });
    while (thrum::read_stats().waiting == 0) thrum::yield();
    auto const holds = [](std::string const& text, std::string const& part) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    holds(text_of_file([](std::FILE* file) { thrum::dump_goroutines(file); }), "[waiting: wait group]");
    holds(text_of_file([](std::FILE* file) { thrum::dump_goroutines(file, {.format = thrum::dump_format::json}); }),
          "\"reason\":\"wait group\"");
    holds(text_of_file([](std::FILE* file) { thrum::dump_goroutines(file, {.stacks = thrum::dump_stacks::grouped}); }),
          "1 @ 0x");
    holds(text_of_file([](std::FILE* file) { thrum::dump_leaks(file); }), "1 goroutine [wait group]");
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

    auto [ctx, cancel] = thrum::with_cancel(parent);
    int worked = 0;
    auto const work_on_all = [&worked, mine = ctx, end = cancel] {
      for (int each = 0; each < 10; ++each) {
        mine.throw_if_done();
        if (++worked == 3) end();
      }
    };
    EXPECT_THROW(work_on_all(), thrum::context_error);
    EXPECT_EQ(worked, 3);
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
    auto writer = thrum::spawn([&] {
      sort.in().write_all(numbers);
      sort.in().close();
    });
    std::string bytes(64, '\0');
    std::string sorted;
    while (auto n = sort.out().read_some(bytes)) sorted.append(bytes, 0, n);
    writer.join();
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

    thrum::group few;
    few.limit(1);
    thrum::chan<int> go_on;
    few.go([=] { static_cast<void>(go_on.recv()); });
    bool done_here = false;
    auto const job = [&] { done_here = true; };
    if (!few.try_go(job)) job();
    EXPECT_TRUE(done_here);
    go_on.close();
    few.wait();
  });
}

}  // namespace
