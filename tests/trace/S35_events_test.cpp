// What a trace of a real run contains (S35). The reader checks strictly: no event is missing or out of order, the
// states of every goroutine follow each other, and every `ready` has its `stop`.
#include "support/gate.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "trace/recorded.h"
#include <thrum/thrum.h>
#include <thrum/trace.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using command::g_state;
using command::record_kind;
using test::file_for_trace;
using test::run_at;

// Expects that the reader has nothing to say against the trace.
void expect_sound(command::trace const& of) {
  test::expect_sound(of);
  EXPECT_EQ("", test::notes_of(of));
}

void use_channels_and_select() {
  chan<int> numbers;
  chan<int> results(8);
  for (int i = 0; i < 4; ++i) {
    go([=] {
      for (int n : numbers) results.send(n * 2);
    });
  }
  go([=] {
    for (int i = 0; i < 200; ++i) numbers.send(i);
    numbers.close();
  });
  chan<int> const never;
  int sum = 0;
  for (int i = 0; i < 200; ++i) {
    select(on_recv(results, [&](std::optional<int> n) { sum += n.value_or(0); }),
           on_recv(never, [](std::optional<int>) {}));
  }
  EXPECT_EQ(200 * 199, sum);
}

void use_locks_and_joins() {
  mutex one;
  int shared = 0;
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(spawn([&] {
      for (int round = 0; round < 20; ++round) {
        std::lock_guard const guard(one);
        ++shared;
        if (round % 5 == 0) thrum::yield();
      }
      return 1;
    }));
  }
  for (auto& each : all) each.join();
  EXPECT_EQ(400, shared);
}

void use_timers_calls_and_threads() {
  wait_group all;
  for (int i = 0; i < 10; ++i) {
    all.go([=] { sleep_for(std::chrono::microseconds(100 * i)); });
    all.go([] { blocking([] {}); });
  }
  all.go([] {
    lock_os_thread();
    sleep_for(1ms);
    thrum::yield();
    unlock_os_thread();
  });
  all.go([] {
    this_goroutine::set_name("named");
    trace::region const whole("outer");
    trace::region const part("inner");
    goexit();
  });
  all.wait();
}

void use_the_network() {
  auto listener = tcp_listener::listen("127.0.0.1:0");
  auto const where = listener.local_endpoint();
  go([&] {
    auto conn = listener.accept();
    std::array<std::byte, 4> bytes{};
    EXPECT_EQ(4U, conn.read_full(bytes));
    conn.write_all(bytes);
  });
  auto conn = tcp_conn::dial(where);
  std::array<std::byte, 4> bytes{};
  sleep_for(1ms);  // the reader waits for the descriptor
  conn.write_all(bytes);
  EXPECT_EQ(4U, conn.read_full(bytes));
}

class traced_runs : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(traced_runs);

TEST_P(traced_runs, S35_no_event_is_lost_or_out_of_order) {
  file_for_trace const file;
  run([&] {
    trace::start(file.name());
    use_channels_and_select();
    use_locks_and_joins();
    use_timers_calls_and_threads();
    use_the_network();
    EXPECT_TRUE(trace::stop());
  });
  auto const made = file.read();
  expect_sound(made);
  EXPECT_GT(made.file.records, 1000U);
  EXPECT_EQ(static_cast<std::uint32_t>(procs()), made.file.header.ps);
}

TEST_P(traced_runs, S35_the_states_of_a_goroutine_add_up_to_its_life) {
  file_for_trace const file;
  run([&] {
    trace::start(file.name());
    use_channels_and_select();
    use_locks_and_joins();
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  std::size_t created = 0;
  for (command::goroutine_life const& each : made.past.goroutines) {
    std::int64_t sum = 0;
    for (std::int64_t const ns : each.ns) sum += ns;
    EXPECT_EQ(each.last_ns - each.first_ns, sum) << "goroutine " << each.number;
    created += each.was_created ? 1 : 0;
  }
  EXPECT_EQ(25U, created);
}

// The walk of `go f()` in docs/internals.md.
TEST(traces, S35_the_events_of_a_goroutine_tell_its_walk) {
  file_for_trace const file;
  std::uint64_t main_id = 0;
  std::uint64_t child_id = 0;
  run_at(1, [&] {
    main_id = this_goroutine::id();
    trace::start(file.name());
    chan<int> c;
    go([&, c] {
      child_id = this_goroutine::id();
      EXPECT_EQ(1, c.recv());
    });
    thrum::yield();  // the child runs, and waits
    c.send(1);
    thrum::yield();  // the child goes on, and ends
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  EXPECT_EQ("create start stop ready start end", test::records_of(made, child_id));
  auto const creations = test::events_of(made, record_kind::create);
  ASSERT_EQ(1U, creations.size());
  EXPECT_EQ(child_id, creations[0].what->argument(0));
  EXPECT_EQ(main_id, creations[0].what->argument(2));
  EXPECT_NE(std::string::npos, made.file.name_of_site(creations[0].what->argument(1)).find("S35_events_test.cpp"))
      << made.file.name_of_site(creations[0].what->argument(1));
  auto const readies = test::events_of(made, record_kind::ready);
  ASSERT_FALSE(readies.empty());
  auto const of_child = std::find_if(readies.begin(), readies.end(),
                                     [&](command::event const& e) { return e.what->argument(0) == child_id; });
  ASSERT_NE(readies.end(), of_child);
  EXPECT_EQ(main_id, of_child->what->argument(1)) << "the waker is named";
}

TEST(traces, S35_a_stop_names_the_reason_and_the_object) {
  file_for_trace const file;
  run_at(1, [&] {
    trace::start(file.name());
    mutex held;
    held.lock();
    auto waits = spawn([&] { std::lock_guard const guard(held); });
    thrum::yield();
    thrum::yield();
    held.unlock();
    waits.join();
    sleep_for(1ms);
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  std::vector<std::string> reasons;
  bool mutex_has_address = false;
  for (command::event const& each : test::events_of(made, record_kind::stop)) {
    reasons.emplace_back(command::name_of_reason(each.what->detail));
    if (reasons.back() == "mutex") mutex_has_address = each.what->argument(1) != 0;
  }
  EXPECT_NE(reasons.end(), std::find(reasons.begin(), reasons.end(), "mutex"));
  EXPECT_NE(reasons.end(), std::find(reasons.begin(), reasons.end(), "sleep"));
  EXPECT_TRUE(mutex_has_address);
}

TEST(traces, S35_a_child_that_is_joined_in_place_has_its_own_events) {
  file_for_trace const file;
  std::uint64_t child_id = 0;
  std::uint64_t main_id = 0;
  run_at(1, [&] {
    main_id = this_goroutine::id();
    trace::start(file.name());
    auto child = spawn([&] {
      child_id = this_goroutine::id();
      thrum::yield();
    });
    child.join();
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  EXPECT_EQ("create start end", test::records_of(made, child_id));
  EXPECT_NE(std::string::npos, test::records_of(made, main_id).find("host hosted"));
}

TEST(traces, S35_a_long_call_hands_its_p_off) {
  file_for_trace const file;
  run_at(1, [&] {
    trace::start(file.name());
    test::gate others_ran;
    go([&] { others_ran.open(); });
    blocking([&] { others_ran.wait(); }, blocking_hint::long_call);
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  auto const calls = test::events_of(made, record_kind::call);
  EXPECT_TRUE(std::any_of(calls.begin(), calls.end(), [](command::event const& e) { return e.what->detail == 1; }));
  EXPECT_FALSE(test::events_of(made, record_kind::take).empty());
  EXPECT_FALSE(test::events_of(made, record_kind::m).empty());
}

TEST(traces, S35_the_length_of_the_global_queue_is_recorded_at_each_change) {
  test::in_run_order const order;
  file_for_trace const file;
  test::run_with({.max_procs = 1, .local_queue_capacity = 4}, [&] {
    trace::start(file.name());
    wait_group all;
    for (int i = 0; i < 40; ++i) all.go([] {});
    all.wait();
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  auto const lengths = test::events_of(made, record_kind::global);
  ASSERT_FALSE(lengths.empty());
  std::uint64_t before = 0;
  std::uint64_t most = 0;
  for (command::event const& each : lengths) {
    std::uint64_t const now = each.what->argument(0);
    // A full queue sends half of its entries and the new one. An M takes one, or a share that is at most half a queue.
    EXPECT_LE(now, before + 3);
    EXPECT_LE(before, now + 2);
    before = now;
    most = std::max(most, now);
  }
  EXPECT_GT(most, 10U);
  EXPECT_EQ(0U, before) << "in the end all of them have run";
}

TEST(traces, S35_stops_of_the_world_and_the_number_of_ps) {
  file_for_trace const file;
  run_at(2, [&] {
    trace::start(file.name());
    set_max_procs(4);
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  auto const starts = test::events_of(made, record_kind::start_world);
  ASSERT_EQ(1U, starts.size());
  EXPECT_EQ(4U, starts[0].what->argument(0));
  EXPECT_EQ(1U, test::events_of(made, record_kind::world_stopped).size());
}

TEST(traces, S35_the_programs_own_events) {
  file_for_trace const file;
  run_at(1, [&] {
    trace::start(file.name());
    trace::task request("request");
    {
      trace::region const parsing("parse");
      trace::log(request, "got 12 bytes");
    }
    trace::log("plain");
    trace::log(std::string(10'000, 'x'));  // too long for a record
    request.end();
    this_goroutine::set_name("server");
    trace::stop();
    trace::log("after the end");
  });
  auto const made = file.read();
  expect_sound(made);
  auto const texts = test::logged(made);
  ASSERT_EQ(3U, texts.size());
  EXPECT_EQ("got 12 bytes", texts[0]);
  EXPECT_EQ("plain", texts[1]);
  EXPECT_EQ(std::string::npos, texts[2].find_first_not_of('x'));
  EXPECT_GE(texts[2].size(), 2000U);
  EXPECT_EQ(2U, test::events_of(made, record_kind::region).size());
  EXPECT_EQ(2U, test::events_of(made, record_kind::task).size());
  auto const names = test::events_of(made, record_kind::name);
  ASSERT_EQ(1U, names.size());
  EXPECT_EQ("server", names[0].what->text());
}

}  // namespace
}  // namespace thrum
