// The forms of the dump: JSON, equal stacks together, and the places where goroutines have waited longest.
#include "base/platform.h"
#include "debug/dump.h"
#include "debug/json.h"
#include "debug/stack_groups.h"
#include "dump/dumps.h"
#include "support/child.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::wait_reason;
using test::names_are_known;
using test::run_at;
using test::wait_until;
using test::waiting_for;

template <class Write>
std::string written(Write write) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const out = ::open_memstream(&text, &size);
  write(out);
  std::fclose(out);
  std::string result(text, size);
  std::free(text);
  return result;
}

std::string dumped(dump_format format, dump_stacks stacks = dump_stacks::automatic) {
  return written([&](std::FILE* out) { dump_goroutines(out, {.format = format, .stacks = stacks}); });
}
std::string leaks(dump_format format) {
  return written([&](std::FILE* out) { dump_leaks(out, format); });
}

bool has_python() { return test::run_shell("python3 --version").code == 0; }
#define THRUM_SKIP_WITHOUT_PYTHON() \
  if (!has_python()) GTEST_SKIP() << "no python3, whose JSON parser is to read the dump"

// Has Python read the dump. Returns what check_dump.py says.
std::string checked(std::string const& json) {
  std::filesystem::path const file =
      std::filesystem::temp_directory_path() / ("thrum-dump-" + std::to_string(::getpid()) + ".json");
  std::ofstream(file, std::ios::binary) << json;
  std::string const source = THRUM_SOURCE_DIR;
  test::outcome const found = test::run_shell("python3 " + source + "/tests/dump/check_dump.py " + source +
                                              "/docs/dump.schema.json " + file.string());
  std::filesystem::remove(file);
  EXPECT_EQ(found.code, 0) << found.text << "\nin\n" << json.substr(0, 5000);
  return found.text;
}

[[gnu::noinline]] void waits_in_here(chan<int>& c) {
  static_cast<void>(c.recv());
  asm volatile("");
}

std::size_t count_of(std::string const& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// --- JSON ---

std::string json_string(std::string_view text) {
  std::string out;
  rt::append_json_string(text, out);
  return out;
}

TEST(json, a_string_is_escaped_and_what_is_not_UTF_8_is_replaced) {
  EXPECT_EQ(json_string("a\"b\\c/"), R"("a\"b\\c/")");
  EXPECT_EQ(json_string(std::string_view("\0\n\x1f\x7f", 4)), "\"\\u0000\\u000a\\u001f\x7f\"");
  EXPECT_EQ(json_string("\u00e4\u20ac\U0001f600"), "\"\u00e4\u20ac\U0001f600\"");
  EXPECT_EQ(json_string("\x80 \xff \xc0\xaf"), R"("\ufffd \ufffd \ufffd\ufffd")") << "no first byte of a character";
  EXPECT_EQ(json_string("\xe2\x82 \xf0\x9f\x98"), R"("\ufffd \ufffd")") << "characters that are cut";
  EXPECT_EQ(json_string("\xe0\x80\x80"), R"("\ufffd\ufffd\ufffd")") << "a second encoding of U+0000";
  EXPECT_EQ(json_string("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")") << "a surrogate";
  EXPECT_EQ(json_string("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")") << "behind the last character";
}

class dump_forms : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(dump_forms);

TEST_P(dump_forms, S01_JSON_is_valid_for_any_name) {
  THRUM_SKIP_WITHOUT_PYTHON();
  run([] {
    std::vector<std::string> const names = {"plain",
                                            "\"quoted\\\"",
                                            "line\nbreak\ttab\x01",
                                            "\xff\xfe invalid \xc3",
                                            "\u00e4\u20ac\U0001f600",
                                            "</script>",
                                            std::string(200, 'x'),
                                            std::string(46, 'x') + "\u20ac"};
    chan<int> c;
    wait_group all;
    for (std::string const& name : names) {
      all.go([&] {
        this_goroutine::set_name(name);
        waits_in_here(c);
      });
    }
    ASSERT_TRUE(wait_until([&] { return waiting_for(wait_reason::chan_receive) == static_cast<int>(names.size()); }));
    std::string const json = dumped(dump_format::json);
    std::string const text = dumped(dump_format::text);
    for (std::size_t i = 0; i < names.size(); ++i) c.send(0);
    all.wait();
    std::string const said = checked(json);
    for (std::string_view const name : {R"("plain")", R"("\"quoted\\\"")", R"("line\nbreak\ttab\u0001")",
                                        R"("\ufffd\ufffd invalid \ufffd")", R"("\u00e4\u20ac\ud83d\ude00")"}) {
      EXPECT_HAS(said, "reason=chan receive name=" + std::string(name));
    }
    EXPECT_HAS(said, "name=\"" + std::string(46, 'x') + "\" ") << "cut between two characters";
    EXPECT_HAS(said, "state=running");
    EXPECT_HAS(text, "] line?break?tab?:\n") << "a name cannot begin a line of the dump";
    if (names_are_known()) {
      EXPECT_HAS(said, "waits_in_here");
    }
  });
}

TEST_P(dump_forms, S01_JSON_has_the_same_goroutines_as_the_text) {
  THRUM_SKIP_WITHOUT_PYTHON();
  run([] {
    chan<int> c;
    mutex held;
    held.lock();
    wait_group all;
    all.go([&] { waits_in_here(c); });
    all.go([&] {
      os_thread_lock const here;
      waits_in_here(c);
    });
    all.go([&] { std::lock_guard const guard(held); });
    std::thread outside([&] { waits_in_here(c); });
    std::string json;
    std::string text;
    EXPECT_TRUE(wait_until([&] {
      json = dumped(dump_format::json);
      text = dumped(dump_format::text);
      return count_of(json, R"("reason":"chan receive")") == 3 && count_of(text, "[waiting: chan receive") == 3 &&
             count_of(json, R"("reason":"mutex")") == 1;
    })) << json;
    c.send(0);
    c.send(0);
    c.send(0);
    held.unlock();
    all.wait();
    outside.join();
    EXPECT_HAS(json, R"("thread":"locked")");
    EXPECT_HAS(json, R"("thread":"outside")");
    EXPECT_HAS(json, R"("waits_for_ns":)") << "of the one that waits for a mutex";
    EXPECT_HAS(checked(json), "goroutines, 5 goroutines, 0 deadlocks");
  });
}

TEST(dump_form, S01_a_deadlock_is_a_cycle_of_JSON) {
  THRUM_SKIP_WITHOUT_PYTHON();
  run_at(2, [] {
    mutex a;
    mutex b;
    latch both_hold(2);
    auto const lock_both = [&](mutex& first, mutex& second) {
      go([&] {
        first.lock();
        both_hold.arrive_and_wait();
        second.lock();
      });
    };
    lock_both(a, b);
    lock_both(b, a);
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 2; }));
    std::string const json = dumped(dump_format::json);
    EXPECT_EQ(count_of(json, R"("waits_for":"mutex")"), 2U) << json;
    EXPECT_HAS(checked(json), "3 goroutines, 1 deadlocks");
    EXPECT_EQ(count_of(dumped(dump_format::text), "deadlock: goroutine "), 1U);
  });
}

// --- groups ---

TEST_P(dump_forms, S01_equal_stacks_are_shown_once_with_their_number) {
  THRUM_SKIP_WITHOUT_PYTHON();
  run([] {
    constexpr int crowd = 300;
    chan<int> c;
    wait_group all;
    wait_group never;
    never.add(1);
    for (int i = 0; i < crowd; ++i) all.go([&] { waits_in_here(c); });
    all.go([&] { never.wait(); });
    ASSERT_TRUE(wait_until(
        [&] { return waiting_for(wait_reason::chan_receive) == crowd && waiting_for(wait_reason::wait_group) == 1; }));
    std::string const text = dumped(dump_format::text, dump_stacks::grouped);
    std::string const json = dumped(dump_format::json, dump_stacks::grouped);
    c.close();
    never.done();
    all.wait();
    EXPECT_TRUE(text.starts_with("302 goroutines; equal stacks are shown once\n\n300 @ 0x")) << text;
    EXPECT_HAS(text, "[waiting: chan receive] goroutines ");
    EXPECT_EQ(count_of(text, "[waiting: chan receive"), 1U) << text;
    EXPECT_EQ(count_of(text, "\n1 @"), 2U) << text;
    EXPECT_HAS(text, "created at\n");
    std::string const said = checked(json);
    EXPECT_HAS(said, "count=300 state=waiting reason=chan receive");
    EXPECT_HAS(said, "count=1 state=waiting reason=wait group");
    if (names_are_known()) {
      EXPECT_EQ(count_of(text, "waits_in_here"), 1U) << text;
    }
  });
}

// A dump beside so many goroutines. They begin, and end, when the dump is written.
std::string dumped_beside(std::size_t crowd, dump_options how) {
  wait_group all;
  for (std::size_t i = 0; i < crowd; ++i) all.go([] {});
  std::string text = dumped(how.format, how.stacks);
  all.wait();
  return text;
}

TEST(dump_form, S01_a_crowd_is_grouped_unless_each_is_asked_for) {
  test::in_run_order const order;  // so that none of them begins before, and has a stack
  run_at(1, [] {
    std::string const text = dumped_beside(rt::grouped_above, {});
    EXPECT_HAS(text, "10000 @\n[runnable (not started)] goroutines ");
    EXPECT_LT(text.size(), 10'000U);
    EXPECT_EQ(count_of(dumped_beside(rt::grouped_above, {dump_format::json}), R"("count":10000)"), 1U);
    std::string const each = dumped_beside(rt::grouped_above, {dump_format::text, dump_stacks::each});
    EXPECT_EQ(count_of(each, "[runnable (not started)]:"), rt::grouped_above);
    EXPECT_EQ(count_of(dumped_beside(100, {}), "[runnable (not started)]:"), 100U);
  });
}

TEST(dump_form, times_of_a_group_are_those_that_are_known) {
  std::vector<rt::goroutine_entry> entries(5);
  for (std::size_t i = 0; i < 4; ++i) entries[i].waits_for_ns = static_cast<std::int64_t>(40 - 10 * i);
  rt::goroutine_entries all;
  for (auto const& e : entries) all.push_back(&e);
  rt::waiting_times const times = rt::times_of(all);
  EXPECT_EQ(times.known, 4U);
  EXPECT_EQ(times.shortest_ns, 10);
  EXPECT_EQ(times.median_ns, 20);
  EXPECT_EQ(times.longest_ns, 40);
  EXPECT_EQ(times.total_ns, 100);
  EXPECT_EQ(rt::times_of({all.back()}).known, 0U);
}

// --- leaks ---

[[gnu::noinline]] void waits_for_the_lock_in_here(mutex& held) {
  held.lock();
  held.unlock();
}
[[gnu::noinline]] void makes_the_leaking(wait_group& all, mutex& held, chan<int>& c) {
  for (int i = 0; i < 7; ++i) {
    all.go([&held, &c] {
      waits_for_the_lock_in_here(held);
      waits_in_here(c);
    });
  }
  asm volatile("");
}

TEST_P(dump_forms, S01_the_places_where_goroutines_wait_are_listed_by_time) {
  THRUM_SKIP_WITHOUT_PYTHON();
  run([] {
    mutex held;
    chan<int> c;
    held.lock();
    wait_group all;
    makes_the_leaking(all, held, c);
    all.go([&] { waits_in_here(c); });
    ASSERT_TRUE(
        wait_until([] { return waiting_for(wait_reason::mutex) == 7 && waiting_for(wait_reason::chan_receive) == 1; }));
    std::string const text = leaks(dump_format::text);
    std::string const json = leaks(dump_format::json);
    held.unlock();
    c.close();
    all.wait();
    std::string const said = checked(json);
    EXPECT_TRUE(said.starts_with("places id=")) << said;
    EXPECT_LT(said.find("count=7 state=waiting reason=mutex"), said.find("count=1 state=waiting reason=chan receive"))
        << "only a mutex knows how long it is\n"
        << said;
    EXPECT_HAS(text, "7 goroutines [mutex, longest less than a second, median less than a second]: ");
    EXPECT_HAS(text, "1 goroutine [chan receive]: ");
    EXPECT_EQ(count_of(text, "[running]"), 0U);
    if (!names_are_known()) return;
    EXPECT_LT(text.find("::waits_for_the_lock_in_here("), text.find("created at")) << text;
    EXPECT_GT(text.find("::waits_for_the_lock_in_here("), text.find("waiting at\nthrum::")) << text;
    EXPECT_HAS(text.substr(text.find("created at")), "makes_the_leaking");
  });
}

TEST(dump_form, S01_a_leak_shows_how_long_its_goroutines_have_waited) {
  test::run_with({.max_procs = 2, .scavenge_after = 20ms}, [] {
    wait_group never;
    never.add(1);
    for (int i = 0; i < 3; ++i) go([&] { never.wait(); });
    EXPECT_TRUE(wait_until([] {
      std::string const all = leaks(dump_format::json);
      return all.find(R"("waited":{"known":3,)") != std::string::npos;
    }));
    never.done();
  });
}

// --- who asks for it ---

// On a thread with much stack, as debug/symbols.h asks for.
std::string dumped_on_thread(rt::Sched& s, rt::dump_form form) {
  rt::goroutine_list all;
  rt::note_on_thread(s, all);
  std::string text;
  auto const append = [](void* to, char const* from, std::size_t bytes) {
    static_cast<std::string*>(to)->append(from, bytes);
  };
  rt::dump_output out(append, &text);
  rt::symbols known;
  rt::write_dump(all, form, known, out);
  return text;
}

TEST_P(dump_forms, S01_a_thread_that_is_none_of_the_schedulers_makes_dumps_and_all_go_on) {
  run([] {
    chan<int> c;
    wait_group all;
    all.go([&] { waits_in_here(c); });
    std::atomic<bool> stop{false};
    all.go([&] {
      while (!stop) yield();
    });
    ASSERT_TRUE(wait_until([] { return waiting_for(wait_reason::chan_receive) == 1; }));
    rt::Sched& s = test::this_sched();
    std::string texts[4];
    std::thread asking([&] {
      texts[0] = dumped_on_thread(s, {});
      texts[1] = dumped_on_thread(s, {.is_json = true});
      texts[2] = dumped_on_thread(s, {.view = rt::dump_view::grouped});
      texts[3] = dumped_on_thread(s, {.view = rt::dump_view::leaks});
    });
    blocking([&] { asking.join(); });
    stop = true;
    c.send(1);
    all.wait();
    EXPECT_HAS(texts[0], "[waiting: chan receive]:");
    EXPECT_HAS(texts[1], R"("reason":"chan receive")");
    EXPECT_HAS(texts[2], "1 @ ");
    EXPECT_HAS(texts[3], "1 goroutine [chan receive]: ");
    for (std::string const& text : texts) EXPECT_EQ(text.find("could not be stopped"), std::string::npos) << text;
  });
}

TEST(dump_form, the_words_for_it_are_read) {
  using rt::dump_form;
  using rt::dump_view;
  auto const read = [](std::string_view words, bool expected = true) {
    dump_form form{dump_view::each, true};
    EXPECT_EQ(rt::parse_dump_form(words, form), expected) << words;
    return form;
  };
  EXPECT_EQ(read(""), dump_form());
  EXPECT_EQ(read("text"), dump_form());
  EXPECT_EQ(read("json"), (dump_form{dump_view::automatic, true}));
  EXPECT_EQ(read("grouped"), (dump_form{dump_view::grouped, false}));
  EXPECT_EQ(read("json+grouped"), (dump_form{dump_view::grouped, true}));
  EXPECT_EQ(read("leaks json"), (dump_form{dump_view::leaks, true}));
  EXPECT_EQ(read("each"), (dump_form{dump_view::each, false}));
  EXPECT_EQ(read("json grupped", false), (dump_form{dump_view::each, true})) << "nothing is changed";
}

class dump_form_of_reports : public test::child_test {};

void quits_with(std::string const& debug) {
  test::with_debug const chosen(debug);
  thrum::run(
      [] {
        chan<int> c;
        go([&] { waits_in_here(c); });
        while (waiting_for(wait_reason::chan_receive) != 1) thrum::yield();
        ::kill(::getpid(), SIGQUIT);
        for (;;) sleep_for(1ms);
      },
      {.max_procs = 2});
}

TEST_F(dump_form_of_reports, S01_THRUM_DEBUG_chooses_the_form_of_SIGQUIT) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  EXPECT_FATAL(quits_with("dump=json"), "SIGQUIT: quit\n\\{\"version\":1,.*\"goroutines\":(.*\n)*.*\"chan receive\"");
  EXPECT_FATAL(quits_with("dump=grouped"),
               "SIGQUIT: quit\n2 goroutines; (.*\n)*\\[waiting: chan receive\\] goroutine ");
  EXPECT_FATAL(quits_with("dump=leaks"), "SIGQUIT: quit\n(.*\n)*1 goroutine \\[chan receive\\]: ");
  EXPECT_FATAL(quits_with("dump=nonsense"), "SIGQUIT: quit\n(.*\n)*goroutine [0-9]+ \\[waiting: chan receive\\]:");
}

TEST(dump_form, without_a_runtime_a_leak_view_says_so) {
  try {
    dump_leaks(stderr);
    ADD_FAILURE() << "no exception";
  } catch (std::logic_error const& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with("thrum: dump_leaks needs a runtime, but ")) << error.what();
  }
}

}  // namespace
}  // namespace thrum
