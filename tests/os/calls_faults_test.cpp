// Every kind of system call can be made to fail, and the failure arrives as the documented answer.
#include "os/clock.h"
#include "os/cpu.h"
#include "os/fault.h"
#include "os/futex.h"
#include "os/memory.h"
#include "os/note.h"
#include "os/signal.h"
#include "os/thread.h"

#include <errno.h>
#include <gtest/gtest.h>

namespace thrum::rt::os {
namespace {

class os_calls : public testing::Test {
 protected:
  void SetUp() override { clear_faults(); }
  void TearDown() override { clear_faults(); }
  std::size_t const page_ = page_size();
};

void* nothing(void*) { return nullptr; }

TEST_F(os_calls, mmap) {
  inject_fault(call::mmap, ENOMEM, 0, 3);
  EXPECT_EQ(map(page_).error, ENOMEM);
  mapping const failed = reserve(page_);
  EXPECT_EQ(failed.address, nullptr);
  EXPECT_EQ(failed.error, ENOMEM);
  EXPECT_EQ(reserve_on_fault(page_).error, ENOMEM);
  mapping const next = map(page_);
  EXPECT_EQ(next.error, 0);
  EXPECT_EQ(calls_made(call::mmap), 4U);
  EXPECT_EQ(unmap(next.address, page_), 0);
}

TEST_F(os_calls, munmap_madvise_mprotect_mlock) {
  mapping const page = map(page_);
  ASSERT_EQ(page.error, 0);
  inject_fault(call::munmap, ENOMEM);
  EXPECT_EQ(unmap(page.address, page_), ENOMEM);
  inject_fault(call::madvise, EINVAL, 0, 4);
  EXPECT_EQ(give_back(page.address, page_), EINVAL);
  EXPECT_EQ(advise_no_huge_pages(page.address, page_), EINVAL);
  EXPECT_EQ(guard_install(page.address, page_), EINVAL);
  EXPECT_EQ(guard_remove(page.address, page_), EINVAL);
  inject_fault(call::mprotect, ENOMEM, 0, 2);
  EXPECT_EQ(protect_none(page.address, page_), ENOMEM);
  EXPECT_EQ(protect_read_write(page.address, page_), ENOMEM);
  inject_fault(call::mlock, EPERM);
  EXPECT_EQ(lock_on_fault(page.address, page_), EPERM);
  page.address[0] = 1;  // none of it happened
  EXPECT_EQ(unmap(page.address, page_), 0);
}

TEST_F(os_calls, locked_memory_can_be_pretended) {
  inject_fault(call::madvise, EINVAL);
  EXPECT_TRUE(memory_is_locked_for_future());
  inject_fault(call::mmap, EAGAIN);
  EXPECT_TRUE(memory_is_locked_for_future());
  inject_fault(call::mmap, ENOMEM);
  EXPECT_FALSE(memory_is_locked_for_future());
}

TEST_F(os_calls, a_probe_without_an_answer_counts_as_readable) {
  char here = 0;
  inject_fault(call::probe, EFAULT);
  EXPECT_FALSE(readable(&here));
  inject_fault(call::probe, ENOSYS);
  EXPECT_TRUE(readable(nullptr));
}

TEST_F(os_calls, S22_thread_create) {
  thread t{};
  for (int const error : {EAGAIN, EPERM, ENOMEM}) {
    inject_fault(call::thread_create, error);
    EXPECT_EQ(create_thread(t, nothing, nullptr), error);
  }
  ASSERT_EQ(create_thread(t, nothing, nullptr), 0);
  join_thread(t);
}

TEST_F(os_calls, futex_waits_that_may_happen) {
  atomic<std::uint32_t> word{0};
  inject_fault(call::futex, EINTR);
  EXPECT_EQ(futex_wait(word, 0), wait_result::interrupted);
  inject_fault(call::futex, EAGAIN);
  EXPECT_EQ(futex_wait(word, 0), wait_result::value_changed);
  inject_fault(call::futex, ETIMEDOUT);
  EXPECT_EQ(futex_wait(word, 0), wait_result::timed_out);
}

TEST_F(os_calls, a_note_sleeps_on_through_interruptions) {
  note n;
  inject_fault(call::futex, EINTR, 0, 5);
  EXPECT_FALSE(n.sleep_for(1'000'000));
  EXPECT_GE(calls_made(call::futex), 2U);
}

TEST_F(os_calls, a_kernel_without_futexes_ends_the_program_with_the_errno) {
  atomic<std::uint32_t> word{0};
  inject_fault(call::futex, ENOSYS);
  EXPECT_EXIT(futex_wait(word, 0), testing::ExitedWithCode(2), "errno=38");
  inject_fault(call::futex_wake, EINVAL);
  EXPECT_EXIT(futex_wake(word, 1), testing::ExitedWithCode(2), "errno=22");
  inject_fault(call::futex_wake, EFAULT);
  EXPECT_EQ(futex_wake(word, 1), 0);
}

TEST_F(os_calls, sigaltstack_and_sigaction) {
  static char stack[256 * 1024];
  inject_fault(call::sigaltstack, ENOMEM);
  EXPECT_EQ(install_alt_stack(stack, sizeof stack), ENOMEM);
  ASSERT_EQ(install_alt_stack(stack, sizeof stack), 0);
  inject_fault(call::sigaltstack, EPERM);
  EXPECT_EQ(remove_alt_stack(), EPERM);
  EXPECT_EQ(remove_alt_stack(), 0);
  inject_fault(call::sigaction, EINVAL);
  EXPECT_EQ(install_fault_handler([](int, siginfo_t*, void*) { return false; }), EINVAL);
}

TEST_F(os_calls, open_read_affinity_and_getrandom_have_something_to_fall_back_on) {
  for (call const each : {call::open, call::read}) {
    inject_fault(each, EMFILE, 0, fault_for_good);
    EXPECT_EQ(count_process_threads(), -1);
    EXPECT_EQ(max_map_count(), 65530U);
    EXPECT_EQ(resident_bytes(), 0U);
    EXPECT_GE(available_cpus(), 1);
    clear_faults();
  }
  inject_fault(call::sched_getaffinity, EINVAL);
  EXPECT_GE(cpus_by_affinity(), 1);
  inject_fault(call::getrandom, ENOSYS);
  EXPECT_NE(random_seed(), random_seed());
  EXPECT_EQ(calls_made(call::getrandom), 2U);
}

}  // namespace
}  // namespace thrum::rt::os
