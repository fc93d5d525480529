// A dump shows the names of goroutines (this_goroutine::set_name), which a goroutine may replace and free at any time
// while it runs. It may run without a P, for example in an announced call, and then a stop of the world does not stop
// it.
#include "debug/dump.h"
#include "sched/world.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using rt::goroutine_list;
using test::run_at;
using test::wait_until;

constexpr std::size_t length = 40;  // a freed name has the allocator's pointers in it

// Gives its goroutine one name after the other. Each consists of one letter.
class many_names {
 public:
  void give_until_stopped() {
    for (char letter = 'a'; !is_stopped_; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
      this_goroutine::set_name(std::string(length, letter));
      ++given_;
    }
  }
  void stop() { is_stopped_ = true; }
  [[nodiscard]] int given() const { return given_; }

 private:
  std::atomic<int> given_{0};
  std::atomic<bool> is_stopped_{false};
};

std::string text_of(goroutine_list& all) {
  static rt::symbols& known = test::kept<rt::symbols>(rt::symbols::source::loader);
  std::string text;
  auto const append = [](void* to, char const* from, std::size_t bytes) {
    static_cast<std::string*>(to)->append(from, bytes);
  };
  rt::dump_output out(append, &text);
  rt::write_dump(all, {}, known, out);
  return text;
}

std::string head_of(std::string const& text, std::string const& state) {
  std::size_t const at = text.find(state);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(names_in_dumps, S01_the_name_of_a_goroutine_that_renames_itself_without_a_p_is_whole) {
  run_at(2, [] {
    many_names names;
    wait_group renamer;
    renamer.go([&] { blocking([&] { names.give_until_stopped(); }); });
    ASSERT_TRUE(wait_until([&] { return names.given() > 0; }));
    for (std::int64_t i = 0; i < test::scaled(2'000, 200) && !testing::Test::HasFailure(); ++i) {
      rt::M& m = *rt::current_m();
      goroutine_list all;
      int given_meanwhile = 0;
      rt::enter_runtime(m);
      {
        rt::stopped_world const world(m);
        int const given = names.given();
        auto const until_ns = rt::os::monotonic_ns() + 20'000;  // the goroutine runs beside this
        while (rt::os::monotonic_ns() < until_ns) rt::cpu_relax();
        all.note(m.sched, goroutine_list::frames::noted, this_goroutine::id());
        given_meanwhile = names.given() - given;
      }
      rt::leave_runtime(m);
      EXPECT_LE(given_meanwhile, 1) << "set_name has not waited for the world";
      std::string const head = head_of(text_of(all), "goroutine ");
      std::string const name = head.substr(head.find("] ") + 2, length);
      EXPECT_EQ(name, std::string(length, name.empty() ? '-' : name.front())) << head;
    }
    names.stop();
    renamer.wait();
  });
}

// A report whose stop of the world has failed (boot/report.cpp).
TEST(names_in_dumps, S01_the_name_of_a_goroutine_that_runs_is_not_read) {
  run_at(2, [] {
    many_names names;
    wait_group renamer;
    renamer.go([&] { names.give_until_stopped(); });
    ASSERT_TRUE(wait_until([&] { return names.given() > 0; }));
    for (std::int64_t i = 0; i < test::scaled(2'000, 200) && !testing::Test::HasFailure(); ++i) {
      rt::M& m = *rt::current_m();
      goroutine_list all;
      rt::enter_runtime(m);
      all.note(m.sched, goroutine_list::frames::none, this_goroutine::id());
      rt::leave_runtime(m);
      std::string const head = head_of(text_of(all), "goroutine ");
      EXPECT_TRUE(head.ends_with("]:")) << head;
    }
    names.stop();
    renamer.wait();
  });
}

}  // namespace
}  // namespace thrum
