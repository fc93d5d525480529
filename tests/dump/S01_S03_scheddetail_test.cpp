// S01 to S04: scheddetail shows every field of a goroutine, a thread and a processor, as it is; the form of the lines:
// S34_schedtrace_test.cpp.
#include "base/check.h"
#include "core/sched.h"
#include "debug/schedtrace.h"
#include "sched/queues.h"
#include "sched/world.h"
#include "stack/stack.h"
#include "support/goroutines.h"
#include "support/push_key.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::this_g;
using test::this_p;
using test::this_sched;

class scheddetail : public test::at_every_width {
  // And no schedtrace: it is printed when the test asks.
  test::with_debug const meanwhile_{"slice=10000000,scheddetail=1"};
};

void print_trace(rt::Sched& s) {
  rt::report_text out;
  rt::print_schedtrace(s, 0, out);
}

std::string printed() {
  testing::internal::CaptureStderr();
  {
    rt::runtime_mark const mark;
    print_trace(this_sched());
  }
  return testing::internal::GetCapturedStderr();
}

// "  G7: ..." up to the end of the line.
std::string line_of(std::string const& all, char kind, long long id) {
  std::size_t const at = all.find("\n  " + std::string(1, kind) + std::to_string(id) + ": ");
  return at == std::string::npos ? "" : all.substr(at + 1, all.find('\n', at + 1) - at - 1);
}

// The text behind " key=", up to the next space.
std::string value_of(std::string const& line, std::string const& key) {
  std::size_t const at = line.find(" " + key + "=");
  if (at == std::string::npos) return "";
  std::size_t const begin = at + key.size() + 2;
  return line.substr(begin, line.find(' ', begin) - begin);
}

std::string text_of(void const* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

long long id_of(rt::G const& g) { return static_cast<long long>(g.id); }

TEST_P(scheddetail, S01_shows_a_goroutines_stack_context_creator_and_entry_function) {
  run([] {
    test::waiter_for_mutex const waiter;
    ASSERT_TRUE(test::wait_until([&] { return waiter.is_parked(); }));
    rt::G const& g = waiter.g();
    std::string const line = line_of(printed(), 'G', id_of(g));
    EXPECT_EQ(value_of(line, "status"), "4(mutex)") << line;
    EXPECT_EQ(value_of(line, "m"), "nil") << line;
    EXPECT_EQ(value_of(line, "lockedm"), "nil") << line;
    EXPECT_EQ(value_of(line, "stack"), "[" + text_of(g.on->low) + "," + text_of(g.on->top) + ")") << line;
    EXPECT_EQ(value_of(line, "sp"), text_of(g.saved.sp)) << line;
    EXPECT_EQ(value_of(line, "pc"), text_of(g.saved.pc)) << line;
    EXPECT_EQ(value_of(line, "creator"), "1") << line;
    EXPECT_EQ(value_of(line, "createdat"), text_of(g.task.created_at)) << line;
    EXPECT_EQ(value_of(line, "entry"), text_of(reinterpret_cast<void*>(g.task.step))) << line;
    EXPECT_NE(line.find("ms", line.find(" waits=")), std::string::npos) << "since when: a mutex knows it. " << line;
  });
}

TEST_P(scheddetail, S01_of_one_that_has_not_started_there_is_no_stack_and_of_one_that_runs_no_context) {
  run([] {
    rt::G& unstarted = test::make_unqueued([] {});  // in no queue, so no M runs it meanwhile
    std::string const all = printed();
    std::string const line = line_of(all, 'G', id_of(unstarted));
    EXPECT_EQ(value_of(line, "status"), "1()") << line;
    EXPECT_EQ(value_of(line, "m"), "nil") << line;
    EXPECT_EQ(value_of(line, "stack"), "nil") << line;
    std::string const own = line_of(all, 'G', id_of(this_g()));
    EXPECT_EQ(value_of(own, "status"), "2()") << own;
    EXPECT_EQ(value_of(own, "stack"), "[" + text_of(this_g().on->low) + "," + text_of(this_g().on->top) + ")") << own;
    EXPECT_EQ(value_of(own, "sp"), "") << own;
    rt::g_list list;
    list.push_back(unstarted);
    test::inject_all(list, test::inject_from::this_p);
  });
}

TEST_P(scheddetail, S02_shows_a_threads_p_next_p_goroutines_note_and_signal_stack) {
  run([] {
    test::leave_m0();
    {
      os_thread_lock const here;
      rt::M const& m = *rt::current_m();
      std::string const all = printed();
      std::string const line = line_of(all, 'M', m.id);
      std::string const own = std::to_string(this_g().id);
      EXPECT_EQ(value_of(line, "p"), std::to_string(this_p().id)) << line;
      EXPECT_EQ(value_of(line, "curg"), own) << line;
      EXPECT_EQ(value_of(line, "lockedg"), own) << line;
      EXPECT_EQ(value_of(line, "nextp"), "nil") << line;
      EXPECT_EQ(value_of(line, "spinning"), "false") << line;
      EXPECT_EQ(value_of(line, "locks"), "1") << "it is in the runtime: it writes this. " << line;
      EXPECT_EQ(value_of(line, "blocked"), "false") << line;
      EXPECT_EQ(value_of(line, "sigstack"), text_of(m.signal_stack.low)) << line;
      std::string const of_g = line_of(all, 'G', id_of(this_g()));
      EXPECT_EQ(value_of(of_g, "m"), std::to_string(m.id)) << of_g;
      EXPECT_EQ(value_of(of_g, "lockedm"), std::to_string(m.id)) << of_g;
    }
    rt::M const& m = *rt::current_m();
    EXPECT_EQ(value_of(line_of(printed(), 'M', m.id), "lockedg"), "nil") << "no longer";
  });
}

TEST_P(scheddetail, S02_a_thread_that_rests_sleeps_on_its_note) {
  run([] {
    test::leave_m0();  // which then only waits for the end, on a note of another kind
    wait_group never;
    never.add(1);
    std::atomic<rt::M*> sleeper{nullptr};
    auto const nmidlelocked = [](std::string const& said) {
      return value_of(said.substr(0, said.find('\n')), "nmidlelocked");
    };
    EXPECT_EQ(nmidlelocked(printed()), "0");
    wait_group all;
    all.go([&] {
      os_thread_lock const here;
      sleeper = rt::current_m();
      never.wait();
    });
    ASSERT_TRUE(test::wait_until([&] {
      return sleeper.load() != nullptr && value_of(line_of(printed(), 'M', sleeper.load()->id), "blocked") == "true";
    }));
    EXPECT_EQ(nmidlelocked(printed()), "1");
    never.done();
    all.wait();
  });
}

// What a P's queue has, and the line that shows it, at one moment.
struct shown_queue {
  std::uint64_t next = 0;  // the id of the goroutine in runnext; 0: none
  std::uint32_t size = 0;
  std::string line;
};

// Makes the two goroutines runnable on the caller's P, which is p, and looks after each. All of this is one stay in the
// runtime. If this goroutine lost its P in between, they would run, and the queue would be empty.
std::pair<shown_queue, shown_queue> queue_after_each(rt::P& p, rt::G& first, rt::G& second) {
  shown_queue with_one;
  shown_queue with_two;
  testing::internal::CaptureStderr();
  {
    rt::runtime_mark const mark;
    for (auto const& [g, seen] : {std::pair{&first, &with_one}, std::pair{&second, &with_two}}) {
      static_cast<void>(rt::put_next(test::push, p, rt::entry_of_unstarted(*g)));
      if (rt::entry const next = p.queue.peek_next()) seen->next = next.g()->id;
      seen->size = p.queue.size();
      print_trace(this_sched());
      rt::print_error("then");
    }
  }
  std::string const all = testing::internal::GetCapturedStderr();
  with_one.line = line_of(all, 'P', p.id);
  with_two.line = line_of(all.substr(all.find("\nthen\n")), 'P', p.id);
  return {with_one, with_two};
}

TEST_P(scheddetail, S03_shows_a_ps_queue_runnext_caches_and_the_ticks_that_sysmon_saw) {
  run([] {
    wait_group all;
    for (int i = 0; i < 10; ++i) all.go([] { thrum::yield(); });
    all.wait();
    ASSERT_TRUE(test::wait_until([] { return num_goroutines() == 1; }));
    rt::P& p = this_p();
    std::string before = line_of(printed(), 'P', p.id);
    EXPECT_EQ(value_of(before, "status"), "1") << before;
    EXPECT_EQ(value_of(before, "m"), std::to_string(rt::current_m()->id)) << before;
    EXPECT_EQ(value_of(before, "schedtick"), std::to_string(p.schedtick.load(rt::relaxed))) << before;
    EXPECT_EQ(value_of(before, "runnext"), "nil") << before;
    EXPECT_EQ(value_of(before, "sudogs"), std::to_string(p.sudogs.size())) << before;
    EXPECT_EQ(value_of(before, "gfreecnt"), std::to_string(p.free_g_count)) << before;
    EXPECT_NE(value_of(before, "seensyscall"), "") << before;
    if (max_procs() == 1) {  // no other M takes goroutines away
      all.add(2);
      rt::G& first = test::make_unqueued([&] { all.done(); });
      rt::G& second = test::make_unqueued([&] { all.done(); });
      auto const [with_one, with_two] = queue_after_each(p, first, second);
      EXPECT_EQ(value_of(with_one.line, "runnext"), with_one.next == 0 ? "nil" : std::to_string(with_one.next));
      EXPECT_EQ(value_of(with_one.line, "runqsize"), std::to_string(with_one.size)) << with_one.line;
      EXPECT_EQ(value_of(with_two.line, "runqsize"), std::to_string(with_two.size)) << with_two.line;
      if (!p.queue.is_randomised()) {
        EXPECT_NE(with_one.next, 0U);
        EXPECT_EQ(with_one.size, 0U) << "runnext is not counted";
        EXPECT_EQ(with_two.size, 1U) << "it was kicked out of runnext";
      }
      all.wait();
    }
    // sysmon looks at Ps that are in use.
    ASSERT_TRUE(test::spin_until([&] {
      std::string const line = line_of(printed(), 'P', p.id);
      return value_of(line, "seentick") == std::to_string(p.schedtick.load(rt::relaxed));
    }));
  });
}

// By a thread that is none of the scheduler's, as sysmon is: to use the runtime would end the call.
std::string printed_in_a_call(rt::Sched& s) {
  testing::internal::CaptureStderr();
  blocking([&] { std::thread([&] { print_trace(s); }).join(); });
  return testing::internal::GetCapturedStderr();
}

TEST_P(scheddetail, S03_a_goroutine_in_a_system_call_keeps_its_thread_and_its_p_is_marked) {
  run([] {
    rt::Sched& s = this_sched();
    long long const own = id_of(this_g());
    ASSERT_TRUE(test::wait_until([&] {  // sysmon may take the P at any moment
      int const p = this_p().id;
      std::string const all = printed_in_a_call(s);
      std::string const g = line_of(all, 'G', own);
      EXPECT_EQ(value_of(g, "status"), "3()") << g;
      std::string const m = value_of(g, "m");
      EXPECT_NE(all.find("\n  M" + m + ": p="), std::string::npos) << all;
      EXPECT_EQ(value_of(line_of(all, 'M', std::atoll(m.c_str())), "curg"), std::to_string(own)) << all;
      return value_of(line_of(all, 'P', p), "status") == "2" || ::testing::Test::HasFailure();
    }));
  });
}

TEST_P(scheddetail, S04_of_a_stopped_world_all_other_ps_are_stopped) {
  run([] {
    testing::internal::CaptureStderr();
    int own = 0;
    {
      test::inside_runtime const inside;
      rt::stopped_world const world(*rt::current_m());
      own = this_p().id;
      print_trace(this_sched());
    }
    std::string const all = testing::internal::GetCapturedStderr();
    std::string const first = all.substr(0, all.find('\n'));
    EXPECT_EQ(value_of(first, "gcwaiting"), "true") << first;
    EXPECT_EQ(value_of(first, "stopwait"), "0") << "all have. " << first;
    for (int id = 0; id < max_procs(); ++id) {
      EXPECT_EQ(value_of(line_of(all, 'P', id), "status"), id == own ? "1" : "3") << "P" << id;
      EXPECT_EQ(value_of(line_of(all, 'P', id), "m") == "nil", id != own) << "P" << id;
    }
    EXPECT_TRUE(test::wait_until([] { return value_of(printed(), "gcwaiting") == "false"; })) << "it runs again";
  });
}

TEST_P(scheddetail, S01_a_joiner_that_hosts_its_child_waits_for_it) {
  run([] {
    long long const host = id_of(this_g());
    auto child = spawn([&] {
      // At one P the child is joined in place. At more Ps another M may have stolen it before it was joined.
      EXPECT_TRUE(test::spin_until([&] { return value_of(line_of(printed(), 'G', host), "status") == "4(join)"; }));
    });
    child.join();
  });
}

THRUM_AT_EVERY_WIDTH(scheddetail);

}  // namespace
}  // namespace thrum
