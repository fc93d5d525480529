// The goroutine dump shows goroutines that are inside a system call (S01).
#include "base/atomic.h"
#include "base/platform.h"
#include "dump/dumps.h"
#include "support/dumped.h"
#include "support/gate.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::about;
using test::dump;
using test::dumped;
using test::wait_until;

[[gnu::noinline]] void reads_unannounced(test::gate const& kernel) {
  kernel.wait();
  asm volatile("");
}
[[gnu::noinline]] void reads_announced(test::gate const& kernel) {
  blocking([&] { kernel.wait(); });
  asm volatile("");
}
// A frame whose place cannot be told from the stack pointer.
[[gnu::noinline]] void has_a_frame_of_unknown_size(test::gate const& kernel, void (*reads)(test::gate const&),
                                                   int bytes) {
  auto* const some = static_cast<char volatile*>(__builtin_alloca(static_cast<std::size_t>(bytes)));
  some[0] = 1;
  reads(kernel);
  some[0] = 2;
}

struct entry_function {
  test::gate const& kernel;
  void (*reads)(test::gate const&);
  [[gnu::noinline]] void operator()() const {
    has_a_frame_of_unknown_size(kernel, reads, 100);
    asm volatile("");
  }
};

// The part of a dump about a goroutine that sleeps in a read.
std::string about_a_goroutine_that(void (*reads)(test::gate const&)) {
  test::gate const kernel;
  wait_group all;
  all.go(entry_function{kernel, reads});
  std::string text;
  EXPECT_TRUE(wait_until([&] {
    text = about(dumped(), "[syscall]");
    return text.find("in system call") != std::string::npos;
  }));
  kernel.open();
  all.wait();
  return text;
}

// On x86_64 the frames above a frame of unknown size are a guess, and the list may end early. AddressSanitizer's
// interceptors have such frames.
void expect_all_frames(std::string const& text, std::string_view innermost) {
  std::vector<std::string_view> names;
#if defined(__aarch64__)
  names = {innermost, "has_a_frame_of_unknown_size", "entry_function::operator()"};
#else
  if (!rt::with_asan) names.push_back(innermost);
#endif
  names.emplace_back("created by");
  std::size_t at = 0;
  for (std::string_view const name : names) {
    at = text.find(name, at);
    ASSERT_NE(at, std::string::npos) << name << " is missing, or in the wrong place, in\n" << text;
  }
}

TEST_P(dump, S01_one_in_an_announced_call_is_shown_with_the_call_and_its_stack) {
  THRUM_SKIP_IF_EMULATED();
  run([] {
    std::string const text = about_a_goroutine_that(reads_announced);
    EXPECT_HAS(text, "in system call " + std::to_string(SYS_read) + " (read)\n");
    THRUM_SKIP_WITHOUT_NAMES();
    expect_all_frames(text, "reads_announced");
  });
}

TEST_P(dump, S01_one_in_a_call_that_was_not_announced_as_well) {
  THRUM_SKIP_IF_EMULATED();
  run([] {
    std::string const text = about_a_goroutine_that(reads_unannounced);
    EXPECT_HAS(text, "in system call " + std::to_string(SYS_read) + " (read)\n");
    THRUM_SKIP_WITHOUT_NAMES();
    expect_all_frames(text, "reads_unannounced");
  });
}

[[gnu::noinline]] void reads_by_number(test::gate const& kernel) {
  kernel.wait_by_number();
  asm volatile("");
}

TEST_P(dump, S01_the_caller_of_a_call_that_hides_it_is_guessed_and_said_to_be) {
  THRUM_SKIP_IF_EMULATED();
  run([] {
    std::string const text = about_a_goroutine_that(reads_by_number);
    EXPECT_HAS(text, "in system call " + std::to_string(SYS_read) + " (read)\n");
#if defined(__aarch64__)
    EXPECT_HAS(text, "perhaps called, directly or not, from\n");
    EXPECT_EQ(text.substr(0, text.find("perhaps")).find("entry_function"), std::string::npos) << text;
#endif
    THRUM_SKIP_WITHOUT_NAMES();
    expect_all_frames(text, "has_a_frame_of_unknown_size");  // the innermost may be missing
  });
}

[[gnu::noinline]] void computes_inside_an_announced_call(std::atomic<bool>& inside, std::atomic<bool> const& stop) {
  blocking_scope const announced;
  inside = true;
  while (!stop) rt::cpu_relax();
}

TEST_P(dump, S01_one_that_computes_in_an_announced_call_is_shown_where_that_was_announced) {
  run([] {
    std::atomic<bool> inside{false};
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] { computes_inside_an_announced_call(inside, stop); });
    ASSERT_TRUE(wait_until([&] { return inside.load(); }));
    std::string const text = about(dumped(), "[syscall]");
    stop = true;
    all.wait();
    EXPECT_HAS(text, "inside a call announced at\n");
    EXPECT_EQ(text.find("in system call"), std::string::npos) << text;
#ifdef __OPTIMIZE__  // else the call is announced in a function of the header
    THRUM_SKIP_WITHOUT_NAMES();
    EXPECT_HAS(text, "computes_inside_an_announced_call");
#endif
  });
}

}  // namespace
}  // namespace thrum
