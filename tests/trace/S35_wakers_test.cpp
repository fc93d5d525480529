// A trace names the place in the code that woke a goroutine, and the goroutine that holds the lock for which another
// one waits (S35).
#include "support/run_at.h"
#include "trace/recorded.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using command::record_kind;
using test::file_for_trace;
using test::run_at;

// Parks a goroutine in `wait`, calls `wake` on main, and returns the goroutine's number.
std::uint64_t wake_one(std::function<void()> const& wait, std::function<void()> const& wake) {
  std::uint64_t id = 0;
  bool is_done = false;
  go([&] {
    id = this_goroutine::id();
    wait();
    is_done = true;
  });
  thrum::yield();  // it runs, and parks
  EXPECT_FALSE(is_done);
  wake();
  while (!is_done) thrum::yield();
  return id;
}

command::record const* first_ready(command::trace const& of, std::uint64_t goroutine) {
  for (command::event const& each : test::events_of(of, record_kind::ready)) {
    if (each.what->argument(0) == goroutine) return each.what;
  }
  return nullptr;
}

TEST(traces_of_wakers, S35_a_ready_names_the_place_in_the_users_code) {
  file_for_trace const file;
  std::uint64_t main_id = 0;
  std::map<std::string, std::uint64_t> woken;
  run_at(1, [&] {
    main_id = this_goroutine::id();
    trace::start(file.name());
    chan<int> numbers;
    chan<std::string> words;
    woken["send"] = wake_one([&] { EXPECT_EQ(1, numbers.recv()); }, [&] { numbers.send(1); });
    woken["send of a moved value"] = wake_one([&] { EXPECT_TRUE(words.recv()); }, [&] { words.send("word"); });
    woken["try_send"] = wake_one([&] { EXPECT_EQ(2, numbers.recv()); }, [&] { EXPECT_TRUE(numbers.try_send(2)); });
    woken["recv"] = wake_one([&] { numbers.send(3); }, [&] { EXPECT_EQ(3, numbers.recv()); });
    woken["try_recv"] = wake_one([&] { numbers.send(4); }, [&] { EXPECT_TRUE(numbers.try_recv().value); });
    woken["select"] = wake_one([&] { EXPECT_EQ(5, numbers.recv()); }, [&] { select(on_send(numbers, 5, [] {})); });
    woken["close"] = wake_one([&] { EXPECT_FALSE(numbers.recv()); }, [&] { numbers.close(); });

    mutex locked;
    locked.lock();
    woken["mutex::unlock"] = wake_one([&] { std::lock_guard const guard(locked); }, [&] { locked.unlock(); });
    shared_mutex shared;
    shared.lock();
    woken["shared_mutex::unlock"] = wake_one([&] { std::shared_lock const guard(shared); }, [&] { shared.unlock(); });
    shared.lock_shared();
    woken["unlock_shared"] = wake_one([&] { std::lock_guard const guard(shared); }, [&] { shared.unlock_shared(); });
    condition_variable changed;
    auto const wait = [&] {
      std::unique_lock guard(locked);
      changed.wait(guard);
    };
    woken["notify_one"] = wake_one(wait, [&] { changed.notify_one(); });
    woken["notify_all"] = wake_one(wait, [&] { changed.notify_all(); });
    semaphore permits(0);
    woken["release"] = wake_one([&] { permits.acquire(); }, [&] { permits.release(); });
    wait_group group;
    group.add(1);
    woken["done"] = wake_one([&] { group.wait(); }, [&] { group.done(); });
    latch ready(1);
    woken["count_down"] = wake_one([&] { ready.wait(); }, [&] { ready.count_down(); });
    trace::stop();
  });
  auto const made = file.read();
  EXPECT_EQ("", test::violations_of(made));
  for (auto const& [how, goroutine] : woken) {
    command::record const* const ready = first_ready(made, goroutine);
    ASSERT_NE(nullptr, ready) << how;
    EXPECT_EQ(main_id, ready->argument(1)) << how;
    std::string const place = made.file.name_of_site(ready->argument(2));
    // These are functions of thrum's headers that the compiler need not inline.
    bool const may_be_in_header = how == "recv" || how == "try_recv" || how == "select";
    bool const is_in_header =
        place.find("chan.h:") != std::string::npos || place.find("select.h:") != std::string::npos;
    EXPECT_TRUE(place.find("S35_wakers_test.cpp:") != std::string::npos || (may_be_in_header && is_in_header))
        << how << ": " << place;
  }
}

TEST(traces_of_wakers, S35_a_timer_has_no_place) {
  file_for_trace const file;
  std::uint64_t main_id = 0;
  run_at(1, [&] {
    main_id = this_goroutine::id();
    trace::start(file.name());
    sleep_for(std::chrono::milliseconds(1));
    trace::stop();
  });
  auto const made = file.read();
  command::record const* const ready = first_ready(made, main_id);
  ASSERT_NE(nullptr, ready);
  EXPECT_EQ(0U, ready->argument(1));
  EXPECT_EQ(0U, ready->argument(2));
}

TEST(traces_of_wakers, S35_a_thread_from_outside_has_a_place_and_no_number) {
  file_for_trace const file;
  std::uint64_t main_id = 0;
  run_at(1, [&] {
    main_id = this_goroutine::id();
    trace::start(file.name());
    chan<int> numbers;
    constexpr int own_number = 135;  // the compiler merges functions with equal code, and then their place is another
    std::thread outside([numbers] { numbers.send(own_number); });
    EXPECT_EQ(own_number, numbers.recv());
    outside.join();
    trace::stop();
  });
  auto const made = file.read();
  for (command::event const& each : test::events_of(made, record_kind::ready)) {
    if (each.what->argument(0) != main_id || each.what->argument(2) == 0) continue;
    EXPECT_EQ(0U, each.what->argument(1));
    std::string const place = made.file.name_of_site(each.what->argument(2));
    EXPECT_NE(std::string::npos, place.find("S35_wakers_test.cpp")) << place;
  }
}

// The goroutines that the trace names as holders when `waiter` stopped.
std::vector<std::uint64_t> holders_for(command::trace const& of, std::uint64_t waiter) {
  std::vector<std::uint64_t> found;
  for (command::g_interval const& each : of.past.intervals) {
    if (of.past.goroutines[each.goroutine].number == waiter && each.holder != 0) found.push_back(each.holder);
  }
  return found;
}

TEST(traces_of_locks, S35_a_stop_for_a_lock_names_the_holder) {
  file_for_trace const file;
  std::uint64_t holder = 0;
  std::map<std::string, std::uint64_t> waiters;
  run_at(1, [&] {
    trace::start(file.name());
    mutex one;
    shared_mutex many;
    chan<int> goes_on;
    go([&] {
      holder = this_goroutine::id();
      std::lock_guard const guard(one);
      std::lock_guard const other_guard(many);
      EXPECT_EQ(0, goes_on.recv());
    });
    thrum::yield();
    int done = 0;
    auto const wait = [&](std::string const& how, auto lock) {
      go([&, how, lock] {
        waiters[how] = this_goroutine::id();
        lock();
        ++done;
      });
    };
    wait("mutex", [&] { std::lock_guard const guard(one); });
    wait("mutex, with a time limit", [&] {
      EXPECT_TRUE(one.try_lock_for(std::chrono::hours(1)));
      one.unlock();
    });
    wait("shared_mutex, to write", [&] { std::lock_guard const guard(many); });
    wait("shared_mutex, to read", [&] { std::shared_lock const guard(many); });
    for (int i = 0; i < 10; ++i) thrum::yield();  // all of them wait
    EXPECT_EQ(0, done);
    goes_on.send(0);
    while (done != 4) thrum::yield();
    trace::stop();
  });
  auto const made = file.read();
  EXPECT_EQ("", test::violations_of(made));
  EXPECT_EQ("", test::notes_of(made));
  ASSERT_EQ(4U, waiters.size());
  for (auto const& [how, waiter] : waiters) {
    auto const found = holders_for(made, waiter);
    ASSERT_FALSE(found.empty()) << how;
    EXPECT_EQ(holder, found.front()) << how;
  }
}

TEST(traces_of_locks, S35_a_lock_that_readers_or_a_thread_hold_has_no_holder) {
  file_for_trace const file;
  std::uint64_t of_readers = 0;
  std::uint64_t of_thread = 0;
  run_at(1, [&] {
    trace::start(file.name());
    shared_mutex many;
    many.lock_shared();
    of_readers = wake_one([&] { std::lock_guard const guard(many); }, [&] { many.unlock_shared(); });
    mutex one;
    std::thread([&] { one.lock(); }).join();
    of_thread = wake_one([&] { std::lock_guard const guard(one); }, [&] { one.unlock(); });
    trace::stop();
  });
  auto const made = file.read();
  EXPECT_EQ("", test::violations_of(made));
  EXPECT_TRUE(holders_for(made, of_readers).empty());
  EXPECT_TRUE(holders_for(made, of_thread).empty());
}

}  // namespace
}  // namespace thrum
