// The goroutine profile: a sample for each goroutine, read by a strict reader and by `go tool pprof`.
#include "debug/symbols.h"
#include "profile/pprof_tool.h"
#include "profile/profile_reader.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/profile.h>
#include <thrum/thrum.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::wait_reason;
using test::profile_sample;
using test::read_profile;
using test::run_at;
using test::wait_until;
using test::waiting_for;

[[gnu::noinline]] void wait_for_a_letter(chan<int> const& box) {
  static_cast<void>(box.recv());
  asm volatile("");  // not a tail call
}

[[gnu::noinline]] void wait_for_the_key(mutex& door) {
  door.lock();
  door.unlock();
}

// Five goroutines wait for a channel and three for a mutex.
class waiting_goroutines {
 public:
  waiting_goroutines() {
    door_.lock();
    for (int i = 0; i < 5; ++i) {
      all_.go([this] {
        this_goroutine::set_name("letters");
        wait_for_a_letter(box_);
      });
    }
    for (int i = 0; i < 3; ++i) all_.go([this] { wait_for_the_key(door_); });
    EXPECT_TRUE(
        wait_until([] { return waiting_for(wait_reason::chan_receive) == 5 && waiting_for(wait_reason::mutex) == 3; }));
  }
  ~waiting_goroutines() {
    door_.unlock();
    box_.close();
    all_.wait();
  }
  waiting_goroutines(waiting_goroutines const&) = delete;
  waiting_goroutines& operator=(waiting_goroutines const&) = delete;

 private:
  wait_group all_;
  mutex door_;
  chan<int> box_;
};

bool names_are_known() { return rt::symbols().reads_files(); }

TEST(goroutine_profile, has_a_sample_for_each_goroutine_with_its_state_and_labels) {
  run_at(2, [] {
    waiting_goroutines const others;
    auto const made = read_profile(profile::goroutines());
    EXPECT_EQ((std::vector<std::pair<std::string, std::string>>{{"goroutine", "count"}}), made.types);
    EXPECT_EQ(9U, made.samples.size());  // with the caller
    EXPECT_EQ(9, test::sum_of(made, 0, [](profile_sample const&) { return true; }));
    std::map<std::string, int> by_state;
    std::map<std::string, int> by_name;
    std::map<std::string, int> by_id;
    for (profile_sample const& one : made.samples) {
      ++by_state[one.label("state")];
      ++by_name[one.label("name")];
      ++by_id[one.label("goroutine")];
    }
    EXPECT_EQ(5, by_state["waiting: chan receive"]);
    EXPECT_EQ(3, by_state["waiting: mutex"]);
    EXPECT_EQ(1, by_state["running"]);
    EXPECT_EQ(5, by_name["letters"]);
    EXPECT_EQ(9U, by_id.size());
    EXPECT_EQ(1, by_id[std::to_string(this_goroutine::id())]);
  });
}

TEST(goroutine_profile, names_the_functions_of_the_program_and_the_place_of_creation) {
  if (!names_are_known()) GTEST_SKIP() << "no libdw: no names of functions to look for";
  run_at(2, [] {
    waiting_goroutines const others;
    auto const made = read_profile(profile::goroutines());
    EXPECT_EQ(5, test::sum_of(made, 0, [](profile_sample const& s) { return s.has("wait_for_a_letter"); }));
    EXPECT_EQ(3, test::sum_of(made, 0, [](profile_sample const& s) { return s.has("wait_for_the_key"); }));
    EXPECT_EQ(1, test::sum_of(made, 0, [](profile_sample const& s) { return s.has("profile::goroutines"); }));
    for (profile_sample const& one : made.samples) {
      EXPECT_FALSE(one.has("thrum::rt::")) << "a function of the runtime is shown";
      if (one.has("wait_for_the_key")) {
        EXPECT_NE(std::string::npos, one.label("created_at").find("goroutine_profile_test.cpp:"))
            << one.label("created_at");
        EXPECT_NE(0, one.stack.back().line);
      }
    }
  });
}

TEST(goroutine_profile, tells_where_the_files_of_the_program_are_loaded) {
  auto const here = reinterpret_cast<std::uintptr_t>(&wait_for_the_key);
  run_at(1, [&] {
    auto const made = read_profile(profile::goroutines());
    ASSERT_FALSE(made.mappings.empty());
    EXPECT_EQ(test::this_program(), made.mappings.front().file);
    bool is_found = false;
    for (auto const& one : made.mappings) is_found = is_found || (here >= one.low && here < one.high);
    EXPECT_TRUE(is_found);
    EXPECT_EQ(names_are_known(), made.mappings.front().has_functions);
    EXPECT_LT(0, made.time_ns);
  });
}

TEST(goroutine_profile, can_be_asked_for_by_a_thread_that_is_no_goroutine) {
  run_at(2, [] {
    waiting_goroutines const others;
    std::size_t samples = 0;
    blocking([&] { std::thread([&] { samples = read_profile(profile::goroutines()).samples.size(); }).join(); });
    EXPECT_LE(9U, samples);
  });
}

TEST(goroutine_profile, shows_a_goroutine_that_has_not_started) {
  run_at(1, [] {
    go([] {});
    auto const made = read_profile(profile::goroutines());
    auto const is_new = [](profile_sample const& s) { return s.has("(not started)"); };
    EXPECT_EQ(1, test::sum_of(made, 0, is_new));
  });
}

TEST(goroutine_profile, is_opened_by_go_tool_pprof) {
  THRUM_SKIP_WITHOUT_PPROF();
  std::string made;
  run_at(2, [&] {
    waiting_goroutines const others;
    made = profile::goroutines();
  });
  auto const raw = test::run_pprof("-raw -symbolize=none", made);
  EXPECT_EQ(0, raw.code) << raw.text;
  EXPECT_NE(std::string::npos, raw.text.find("goroutine/count")) << raw.text;
  EXPECT_NE(std::string::npos, raw.text.find("state:[waiting: chan receive]")) << raw.text;
  if (!names_are_known()) return;
  auto const top = test::run_pprof("-top -symbolize=none", made);
  EXPECT_EQ(0, top.code) << top.text;
  EXPECT_NE(std::string::npos, top.text.find("100% of 9 total")) << top.text;
  EXPECT_NE(std::string::npos, top.text.find("wait_for_a_letter")) << top.text;
}

TEST(goroutine_profile, is_written_to_a_file) {
  test::profile_file const file;
  run_at(1, [&] {
    profile::write_goroutines(file.name());
    EXPECT_EQ(1U, read_profile(file.contents()).samples.size());
    try {
      profile::write_goroutines("/nonexistent/folder/file");
      ADD_FAILURE() << "it was opened";
    } catch (std::system_error const& e) {
      EXPECT_EQ(ENOENT, e.code().value());
      EXPECT_NE(std::string::npos, std::string(e.what()).find("/nonexistent/folder/file")) << e.what();
    }
    EXPECT_THROW(profile::write_goroutines("/dev/full"), std::system_error);
    EXPECT_THROW(profile::write_goroutines(std::string("a\0b", 3)), std::system_error);
  });
}

TEST(goroutine_profile, needs_a_runtime) { EXPECT_THROW(static_cast<void>(profile::goroutines()), std::logic_error); }

TEST(profile_reader, refuses_what_is_no_profile) {
  std::string made;
  run_at(1, [&] { made = profile::goroutines(); });
  EXPECT_NO_THROW(read_profile(made));
  int refused = 0;
  for (std::size_t length = 0; length < made.size(); length += 7) {
    try {
      read_profile(std::string_view(made).substr(0, length));
    } catch (std::runtime_error const&) {
      ++refused;
    }
  }
  EXPECT_EQ(static_cast<int>((made.size() + 6) / 7), refused) << "of the profiles that were cut off";
}

}  // namespace
}  // namespace thrum
