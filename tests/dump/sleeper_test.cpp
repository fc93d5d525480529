// The copy of the stack of a thread that sleeps in the kernel (S01).
#include "debug/sleeper.h"

#include "base/atomic.h"
#include "os/thread.h"
#include "support/child.h"
#include "support/gate.h"
#include "support/scale.h"
#include "support/wait_until.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace thrum::rt {
namespace {

using test::wait_until;

constexpr std::uintptr_t marked = 0x7468'7275'6d21'0001;

class sleeper_copy : public testing::Test {
 protected:
  void SetUp() override {
    if (test::emulated()) GTEST_SKIP() << "what the kernel says of a thread is about the emulator";
    thread_ = std::thread([this] { reads(); });
    while (mark_ == nullptr) std::this_thread::yield();
  }
  void TearDown() override {
    stop_ = true;
    kernel_.open();
    if (thread_.joinable()) thread_.join();
  }

  // Its frame holds a word that is looked for in the copy.
  [[gnu::noinline]] void reads() {
    std::uintptr_t volatile mark = marked;
    tid_ = os::current_tid();
    mark_ = &mark;
    kernel_.wait();
    while (!stop_) cpu_relax();
    mark = 0;
  }
  // Of its stack what reaches that far above the marked word.
  [[nodiscard]] stack_range with_the_mark() const {
    auto const at = reinterpret_cast<std::uintptr_t>(mark_.load());
    return {nullptr, reinterpret_cast<char const*>(at + sizeof at)};
  }

  test::gate kernel_;
  std::atomic<int> tid_{0};
  std::atomic<std::uintptr_t volatile*> mark_{nullptr};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(sleeper_copy, S01_holds_the_stack_from_the_stack_pointer_to_its_end_and_no_more) {
  sleeper found;
  ASSERT_TRUE(wait_until([&] {
    found = copy_sleeper(tid_, with_the_mark());
    return found.is_known();
  }));
  EXPECT_EQ(found.call, SYS_read);
  auto const at = reinterpret_cast<std::uintptr_t>(mark_.load());
  std::uintptr_t word = 0;
  EXPECT_TRUE(found.read(at, word));
  EXPECT_EQ(word, marked);
  EXPECT_TRUE(found.read(found.stack_pointer, word));
  EXPECT_FALSE(found.read(found.stack_pointer - 1, word));
  EXPECT_FALSE(found.read(at + 1, word));
  EXPECT_FALSE(found.read(at + sizeof at, word));
  EXPECT_FALSE(found.read(0, word));
  forget(found);
  EXPECT_FALSE(found.is_known());
}

TEST_F(sleeper_copy, S01_is_not_made_of_a_stack_that_is_not_the_sleepers) {
  sleeper found;
  ASSERT_TRUE(wait_until([&] {
    found = copy_sleeper(tid_, with_the_mark());
    return found.is_known();
  }));
  auto const* const sp = reinterpret_cast<char const*>(found.stack_pointer);
  forget(found);
  EXPECT_FALSE(copy_sleeper(tid_, {nullptr, sp}).is_known());
  EXPECT_FALSE(copy_sleeper(tid_, {sp + 1, with_the_mark().high}).is_known());
}

TEST_F(sleeper_copy, S01_is_not_made_of_a_thread_that_runs) {
  kernel_.open();
  // Once it has come out of the kernel it stays outside.
  ASSERT_TRUE(wait_until([&] {
    sleeper found = copy_sleeper(tid_, with_the_mark());
    bool const is_known = found.is_known();
    forget(found);
    return !is_known;
  }));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(copy_sleeper(tid_, with_the_mark()).is_known());
}

// Goes in and out of one call, which looks the same from outside each time; both ends of a large frame are alike then.
struct restless {
  struct large_frame {
    std::uintptr_t volatile low;
    char volatile between[std::size_t{32} * 1024];
    std::uintptr_t volatile high;
  };
  test::gate kernel;
  std::atomic<int> tid{0};
  std::atomic<large_frame*> frame{nullptr};
  std::atomic<std::uintptr_t> round{0};
  std::atomic<bool> stop{false};

  [[gnu::noinline]] void reads() {
    large_frame own;
    tid = os::current_tid();
    frame = &own;
    while (!stop) {
      std::uintptr_t const next = round + 1;
      own.low = next;
      own.high = next;
      round = next;
      kernel.wait();
    }
    own.between[0] = 0;
  }
  void wakes_it() {
    for (std::uintptr_t seen = 0; !stop; seen = round) {
      while (!stop && round == seen) std::this_thread::yield();
      kernel.open();
    }
    kernel.open();
  }
};

TEST(sleeper_copies, S01_a_copy_is_of_one_moment) {
  if (test::emulated()) GTEST_SKIP() << "what the kernel says of a thread is about the emulator";
  restless one;
  std::thread reader([&] { one.reads(); });
  std::thread waker([&] { one.wakes_it(); });
  while (one.frame == nullptr) std::this_thread::yield();
  restless::large_frame const* const frame = one.frame;
  auto const low = reinterpret_cast<std::uintptr_t>(&frame->low);
  auto const high = reinterpret_cast<std::uintptr_t>(&frame->high);
  int copies = 0;
  int torn = 0;
  auto const look = [&] {
    sleeper found = copy_sleeper(one.tid, {nullptr, reinterpret_cast<char const*>(high + sizeof high)});
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    if (found.read(low, first) && found.read(high, last)) {
      ++copies;
      torn += first != last ? 1 : 0;
    }
    forget(found);
  };
  for (int i = 0; i < test::scaled(20'000); ++i) look();
  EXPECT_TRUE(wait_until([&] {
    look();
    return copies != 0;
  }));
  one.stop = true;
  waker.join();
  reader.join();
  EXPECT_EQ(torn, 0) << "of " << copies;
}

}  // namespace
}  // namespace thrum::rt
