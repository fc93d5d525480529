// A kernel that refuses an io_uring or takes no requests. Reads of files then keep their thread, and the program sees
// no difference.
#include "os/fault.h"
#include "support/cold_file.h"
#include "support/descriptors.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <string>

#include <errno.h>
#include <gtest/gtest.h>

namespace thrum {
namespace {

using rt::os::call;
using rt::os::calls_made;
using rt::os::clear_faults;
using rt::os::fault_for_good;
using rt::os::inject_fault;
using test::cold_file;

constexpr std::size_t page_bytes = cold_file::page_bytes;

class file_faults : public test::cold_reading {
 protected:
  // Each of them seems not to be in memory, once.
  static void read_cold(cold_file const& data, file& in, int count) {
    wait_group readers;
    inject_fault(call::memory_read, EAGAIN, 0, static_cast<std::uint64_t>(count));
    for (int i = 0; i < count; ++i) {
      readers.go([&data, &in, i] {
        std::array<char, 100> bytes{};
        auto const offset = static_cast<std::size_t>(i) * page_bytes;
        EXPECT_EQ(in.read_at(bytes, offset), bytes.size());
        EXPECT_EQ(std::string(bytes.data(), bytes.size()), data.text().substr(offset, bytes.size()));
      });
    }
    readers.wait();
  }
};
THRUM_AT_EVERY_WIDTH(file_faults);

TEST_P(file_faults, NE_a_kernel_that_refuses_the_uring_is_asked_once_in_a_run) {
  cold_file const data(40 * page_bytes);
  for (int const error : {ENOSYS, EPERM, ENOMEM, EMFILE}) {
    run_without_threads([&] {
      auto in = data.open_cold();
      inject_fault(call::uring_setup, error, 0, fault_for_good);
      read_cold(data, in, 20);
      EXPECT_EQ(calls_made(call::uring_setup), 1U);
      auto const first = calls_made(call::memory_read);
      EXPECT_LE(read_stats().file_reads_handed_off, 20U);
      EXPECT_GE(read_stats().file_reads_handed_off, 1U);
      read_cold(data, in, 20);
      EXPECT_EQ(calls_made(call::uring_setup), 1U);
      EXPECT_EQ(calls_made(call::memory_read), first) << "and what cannot be waited for is not tried";
      EXPECT_EQ(read_stats().file_reads_waited, 0U);
      clear_faults();
    });
  }
}

TEST_P(file_faults, NE_whatever_fails_on_the_way_to_a_uring_leaves_nothing_open) {
  cold_file const data(40 * page_bytes);
  for (call const which : {call::eventfd, call::epoll_ctl}) {
    run_without_threads([&] {
      auto in = data.open_cold();
      ASSERT_EQ(rt::os::open_poll(), 0);
      int const before = test::open_descriptors();
      inject_fault(which, ENOMEM, 0, fault_for_good);
      read_cold(data, in, 20);
      EXPECT_EQ(test::open_descriptors(), before);
      EXPECT_EQ(read_stats().file_reads_waited, 0U);
      clear_faults();
    });
  }
}

TEST_P(file_faults, NE_what_the_kernel_does_not_take_is_read_on_a_thread) {
  if (!test::uring_is_available()) GTEST_SKIP() << "this kernel has no io_uring for us";
  cold_file const data(40 * page_bytes);
  for (int const error : {EAGAIN, EBUSY, ENOMEM}) {
    run_without_threads([&] {
      auto in = data.open_cold();
      inject_fault(call::uring_enter, error, 0, fault_for_good);
      read_cold(data, in, 20);
      EXPECT_EQ(read_stats().file_reads_handed_off, 20U);
      clear_faults();
      read_cold(data, in, 20);
      EXPECT_EQ(read_stats().file_reads_handed_off, 20U);
      EXPECT_EQ(read_stats().file_reads_waited, 20U) << "the uring goes on";
    });
  }
}

TEST_P(file_faults, NE_more_readers_than_a_uring_has_room_for) {
  if (!test::uring_is_available()) GTEST_SKIP() << "this kernel has no io_uring for us";
  constexpr int readers = static_cast<int>(rt::os::uring_questions_max) + 40;
  cold_file const data(readers * page_bytes);
  run_without_threads([&] {
    auto in = data.open_cold();
    inject_fault(call::uring_answers, EAGAIN, 0, fault_for_good);  // no read ends, until the uring is full
    inject_fault(call::memory_read, EAGAIN, 0, readers);
    std::atomic<int> done{0};
    wait_group all;
    for (int i = 0; i < readers; ++i) {
      all.go([&, i] {
        std::array<char, 100> bytes{};
        auto const offset = static_cast<std::size_t>(i) * page_bytes;
        EXPECT_EQ(in.read_at(bytes, offset), bytes.size());
        EXPECT_EQ(std::string(bytes.data(), bytes.size()), data.text().substr(offset, bytes.size()));
        ++done;
      });
    }
    EXPECT_TRUE(test::wait_until([&] { return done == 40; }));
    EXPECT_EQ(read_stats().file_reads_handed_off, 40U);
    clear_faults();
    // The events of what was answered meanwhile have come and gone.
    EXPECT_TRUE(test::wait_until([&] {
      rt::g_list late;
      {
        rt::runtime_mark const mark;
        test::this_sched().cold_reads.take_answered(late);
        late.for_each([](rt::G& g) { g.end_wait(); });
      }
      if (!late.empty()) test::inject_all(late, test::inject_from::nowhere);
      return done == readers;
    }));
    all.wait();
    EXPECT_GE(read_stats().file_reads_waited, rt::os::uring_questions_max)
        << "a page may be gone again, and waited for anew";
  });
}

}  // namespace
}  // namespace thrum
