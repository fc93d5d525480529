#include "os/memory.h"

#include "base/platform.h"
#include "os/fault.h"
#include "os/text_file.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

constexpr std::size_t mib = 1024 * 1024;

THRUM_NO_ASAN THRUM_NO_TSAN char load(char const* address) { return *static_cast<char const volatile*>(address); }

// Runs `body` in a child and answers its exit code, or 1000 + the signal that ended it.
template <class F>
int in_child(F body) {
  pid_t const child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// The truth about an address: a child that reads it.
bool child_can_read(char const* address) {
  return in_child([address] {
           signal(SIGSEGV, SIG_DFL);
           signal(SIGBUS, SIG_DFL);
           load(address);
           return 0;
         }) == 0;
}

// A kernel of its own architecture that knows MADV_GUARD_INSTALL; an emulator may answer 0 and do nothing.
bool kernel_has_guards() {
  utsname name{};
  uname(&name);
  int major = 0;
  int minor = 0;
  std::sscanf(name.release, "%d.%d", &major, &minor);
  char host[32] = {};
  bool const emulated = read_text_file("/proc/sys/kernel/arch", host, sizeof host) > 0 &&
                        std::strncmp(host, name.machine, std::strlen(name.machine)) != 0;
  return !emulated && (major > 6 || (major == 6 && minor >= 13));
}

class memory : public testing::Test {
 protected:
  void SetUp() override { clear_faults(); }
  void TearDown() override {
    clear_faults();
    if (pages_.address != nullptr) {
      EXPECT_EQ(unmap(pages_.address, 16 * page_), 0);
    }
  }

  // 16 pages, unmapped after the test.
  char* pages() {
    if (pages_.address == nullptr) pages_ = reserve(16 * page_);
    EXPECT_EQ(pages_.error, 0);
    return pages_.address;
  }

  std::size_t const page_ = page_size();
  mapping pages_{nullptr, 0};
};

TEST_F(memory, a_page_is_a_power_of_two_of_at_least_4_KiB) {
  EXPECT_GE(page_, 4096U);
  EXPECT_EQ(page_ & (page_ - 1), 0U);
}

TEST_F(memory, mapped_memory_is_zero_and_writable) {
  mapping const slab = map(4 * page_);
  ASSERT_EQ(slab.error, 0);
  EXPECT_EQ(slab.address[0], 0);
  slab.address[4 * page_ - 1] = 1;
  EXPECT_EQ(unmap(slab.address, 4 * page_), 0);
  EXPECT_FALSE(readable(slab.address));
}

TEST_F(memory, a_reservation_costs_only_what_is_touched) {
  constexpr std::size_t bytes = 4096 * mib;
  std::size_t const before = resident_bytes();
  mapping const reserved = reserve(bytes);
  ASSERT_EQ(reserved.error, 0);
  ASSERT_EQ(advise_no_huge_pages(reserved.address, bytes), 0);
  reserved.address[0] = 1;
  reserved.address[bytes - 1] = 1;
  EXPECT_LT(resident_bytes(), before + 64 * mib);
  EXPECT_EQ(unmap(reserved.address, bytes), 0);
}

TEST_F(memory, too_much_is_refused_with_the_errno) {
  mapping const reserved = reserve(SIZE_MAX / 2 / page_ * page_);
  EXPECT_EQ(reserved.address, nullptr);
  EXPECT_EQ(reserved.error, ENOMEM);
}

TEST_F(memory, resident_bytes_follow_touching_and_giving_back) {
  constexpr std::size_t bytes = 64 * mib;
  mapping const reserved = reserve(bytes);
  ASSERT_EQ(reserved.error, 0);
  std::size_t const before = resident_bytes();
  std::memset(reserved.address, 1, bytes);
  std::size_t const touched = resident_bytes();
  EXPECT_GT(touched, before + bytes / 2);
  ASSERT_EQ(give_back(reserved.address, bytes), 0);
  EXPECT_LT(resident_bytes(), touched - bytes / 2);
  EXPECT_EQ(reserved.address[0], 0);
  EXPECT_EQ(unmap(reserved.address, bytes), 0);
}

TEST_F(memory, resident_bytes_come_from_statm_where_there_is_no_rollup) {
  inject_fault(call::open, ENOENT);
  std::size_t const coarse = resident_bytes();
  EXPECT_GT(coarse, mib);
  inject_fault(call::open, ENOENT, 0, 2);
  EXPECT_EQ(resident_bytes(), 0U);
}

TEST_F(memory, readable_tells_the_truth_of_mapped_protected_and_unmapped_pages) {
  char* const low = pages();
  EXPECT_TRUE(readable(low));
  EXPECT_TRUE(readable(low + 1));
  EXPECT_TRUE(readable(low + page_ - 1));
  ASSERT_EQ(protect_none(low + page_, page_), 0);
  EXPECT_TRUE(readable(low + page_ - 1));
  EXPECT_FALSE(readable(low + page_));
  EXPECT_FALSE(readable(low + 2 * page_ - 1));
  EXPECT_TRUE(readable(low + 2 * page_));
  ASSERT_EQ(protect_read_write(low + page_, page_), 0);
  EXPECT_TRUE(readable(low + page_));
  EXPECT_FALSE(readable(nullptr));
}

TEST_F(memory, readable_finds_read_only_memory_readable_and_any_word_in_it) {
  static constexpr char text[] = "read only";
  EXPECT_TRUE(readable(text));
  char* const low = pages();
  for (int const value : {0, 1, -1, 0x7fffffff}) {
    std::memcpy(low, &value, sizeof value);
    EXPECT_TRUE(readable(low));
  }
}

TEST_F(memory, readable_keeps_errno) {
  errno = EDOM;
  EXPECT_FALSE(readable(nullptr));
  EXPECT_EQ(errno, EDOM);
}

TEST_F(memory, T10_a_guard_is_what_readable_says_it_is) {
  char* const low = pages();
  low[page_] = 1;
  int const error = guard_install(low + page_, 2 * page_);
  if (kernel_has_guards()) {
    ASSERT_EQ(error, 0);
    EXPECT_FALSE(readable(low + page_));
  }
  EXPECT_EQ(readable(low + page_), child_can_read(low + page_));
  EXPECT_EQ(readable(low + 3 * page_ - 1), child_can_read(low + 3 * page_ - 1));
  EXPECT_TRUE(readable(low + page_ - 1));
  EXPECT_TRUE(readable(low + 3 * page_));
  if (error == 0) {
    EXPECT_EQ(guard_remove(low + page_, 2 * page_), 0);
  }
  EXPECT_TRUE(readable(low + page_));
  EXPECT_TRUE(child_can_read(low + page_));
}

TEST_F(memory, T10_a_guard_survives_giving_the_pages_back) {
  char* const low = pages();
  if (guard_install(low, page_) != 0 || readable(low)) GTEST_SKIP() << "no guards here";
  ASSERT_EQ(give_back(low, 2 * page_), 0);
  EXPECT_FALSE(readable(low));
  EXPECT_TRUE(readable(low + page_));
}

TEST_F(memory, protection_faults_where_it_should) {
  char* const low = pages();
  ASSERT_EQ(protect_none(low, page_), 0);
  EXPECT_FALSE(child_can_read(low));
  EXPECT_TRUE(child_can_read(low + page_));
}

TEST_F(memory, the_number_of_mappings_has_a_limit_and_a_default) {
  EXPECT_GT(max_map_count(), 0U);
  inject_fault(call::open, EACCES);
  EXPECT_EQ(max_map_count(), 65530U);
  inject_fault(call::read, EIO);
  EXPECT_EQ(max_map_count(), 65530U);
}

TEST_F(memory, is_not_locked_unless_the_program_asked_for_it) { EXPECT_FALSE(memory_is_locked_for_future()); }

// The raw call: the sanitizers' mlockall does nothing.
bool lock_all(int flags) { return syscall(SYS_mlockall, flags) == 0; }

TEST_F(memory, T10_mlockall_for_the_future_is_seen_in_both_its_forms) {
  int const code = in_child([] {
    if (!lock_all(MCL_FUTURE)) return 77;
    if (!memory_is_locked_for_future()) return 1;
    if (!lock_all(MCL_FUTURE | MCL_ONFAULT)) return 77;
    if (!memory_is_locked_for_future()) return 2;
    syscall(SYS_munlockall);
    return memory_is_locked_for_future() ? 3 : 0;
  });
  if (code == 77) GTEST_SKIP() << "this process may not lock memory";
  EXPECT_EQ(code, 0);
}

TEST_F(memory, T10_a_reservation_on_fault_is_not_filled_under_mlockall) {
  int const code = in_child([] {
    constexpr std::size_t bytes = 512 * mib;
    if (!lock_all(MCL_FUTURE)) return 77;
    mapping const reserved = reserve_on_fault(bytes);
    if (reserved.error == EAGAIN || reserved.error == ENOMEM) return 77;
    if (reserved.error == ENOSYS) return 78;
    if (reserved.error != 0) return 1;
    unsigned char resident = 1;
    if (mincore(reserved.address + bytes / 2, page_size(), &resident) != 0 || (resident & 1U) != 0) return 2;
    reserved.address[bytes / 2] = 1;
    if (mincore(reserved.address + bytes / 2, page_size(), &resident) != 0 || (resident & 1U) == 0) return 3;
    return give_back(reserved.address + bytes / 2, page_size()) == EINVAL ? 0 : 4;  // it is locked now
  });
  if (code == 77) GTEST_SKIP() << "this process may not lock so much memory";
  if (code == 78) GTEST_SKIP() << "no mlock2 here";
  EXPECT_EQ(code, 0);
}

TEST_F(memory, a_reservation_on_fault_that_fails_halfway_leaves_nothing_behind) {
  inject_fault(call::mlock, ENOMEM);
  EXPECT_EQ(reserve_on_fault(page_).error, ENOMEM);
  inject_fault(call::mprotect, ENOMEM);
  EXPECT_EQ(reserve_on_fault(page_).address, nullptr);
}

}  // namespace
}  // namespace thrum::rt::os
