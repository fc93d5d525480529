// Reads of files whose bytes are not in memory. The goroutine waits, and no thread does (decision 015). Whichever way a
// read takes, its result is that of pread.
#include "os/fault.h"
#include "os/thread.h"
#include "support/cold_file.h"
#include "support/descriptors.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using rt::os::call;
using rt::os::clear_faults;
using rt::os::fault_for_good;
using rt::os::inject_fault;
using test::cold_file;
using test::scaled;
using test::wait_until;

constexpr std::size_t page_bytes = cold_file::page_bytes;

class file_uring : public test::cold_reading {
 protected:
  void SetUp() override {
    test::cold_reading::SetUp();
    if (!test::uring_is_available()) GTEST_SKIP() << "this kernel has no io_uring for us";
  }

  // From here on nothing seems to be in memory, whatever the file system does, for this many reads that wait.
  static void nothing_is_in_memory(std::uint64_t times = 1) { inject_fault(call::memory_read, EAGAIN, 0, times); }
};
THRUM_AT_EVERY_WIDTH(file_uring);

// What pread says: bytes, or -errno.
struct answer {
  std::ptrdiff_t result;
  std::string bytes;
  bool operator==(answer const&) const = default;
};

// Aligned as pages are: some files insist on that.
class page_room {
 public:
  explicit page_room(std::size_t bytes) : memory_(bytes + page_bytes, '-') {
    auto const address = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ = memory_.data() + (page_bytes - address % page_bytes) % page_bytes;
  }
  [[nodiscard]] char* start() const { return start_; }
  [[nodiscard]] std::string beginning(std::ptrdiff_t bytes) const {
    return bytes <= 0 ? std::string() : std::string(start_, static_cast<std::size_t>(bytes));
  }

 private:
  std::string memory_;
  char* start_;
};

answer by_pread(int fd, std::size_t bytes, std::uint64_t offset) {
  page_room const room(bytes);
  std::ptrdiff_t const got = ::pread(fd, room.start(), bytes, static_cast<off_t>(offset));
  return {got < 0 ? -errno : got, room.beginning(got)};
}

answer by_read_at(file& in, std::size_t bytes, std::uint64_t offset) {
  page_room const room(bytes);
  std::error_code error = std::make_error_code(std::errc::timed_out);  // whatever it says is to be replaced
  auto const got = static_cast<std::ptrdiff_t>(in.read_at(mutable_buffer(room.start(), bytes), offset, error));
  EXPECT_TRUE(!error || got == 0);
  return {error ? -error.value() : got, room.beginning(got)};
}

TEST_P(file_uring, NE_reads_are_the_same_as_pread_while_pages_come_and_go) {
  constexpr std::size_t bytes = 300 * page_bytes + 123;
  cold_file const data(bytes);
  auto const seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  run_without_threads([&] {
    auto in = data.open_cold();
    std::atomic<bool> stop{false};
    wait_group readers;
    for (unsigned each = 0; each < 16; ++each) {
      readers.go([&, each] {
        std::mt19937 random(seed + each);
        for (std::int64_t i = scaled(60, 10); i > 0 && !testing::Test::HasFailure(); --i) {
          std::size_t const offset = random() % (bytes + page_bytes);
          std::size_t const wanted = random() % (i % 8 == 0 ? 40 * page_bytes : 2 * page_bytes);
          auto const expected = offset < bytes ? data.text().substr(offset, wanted) : std::string();
          EXPECT_EQ(by_read_at(in, wanted, offset), (answer{static_cast<std::ptrdiff_t>(expected.size()), expected}))
              << wanted << " bytes at " << offset << ", seed " << seed;
        }
      });
    }
    auto dropper = spawn([&] {
      while (!stop) {
        cold_file::drop(in);
        sleep_for(std::chrono::microseconds(200));
      }
    });
    readers.wait();
    stop = true;
    dropper.join();
  });
}

TEST_P(file_uring, NE_a_hundred_cold_reads_at_once_keep_no_threads) {
  constexpr int readers = 100;
  cold_file const data(readers * page_bytes);
  auto const read_all = [&](file& in, wait_group& all) {
    for (std::size_t i = 0; i < readers; ++i) {
      all.go([&in, &data, i] {
        std::array<char, page_bytes> page{};
        EXPECT_EQ(in.read_at(page, i * page_bytes), page_bytes);
        EXPECT_EQ(std::string(page.data(), page_bytes), data.text().substr(i * page_bytes, page_bytes));
      });
    }
  };
  run_without_threads([&] {
    auto in = data.open_cold();
    inject_fault(call::uring_answers, EAGAIN, 0, fault_for_good);
    nothing_is_in_memory(readers);
    wait_group all;
    read_all(in, all);
    EXPECT_TRUE(wait_until([&] { return test::waiting_for(rt::wait_reason::io) == readers; })) << "all are parked";
    EXPECT_EQ(read_stats().file_reads_handed_off, 0U);
    clear_faults();
    nothing_is_in_memory();
    EXPECT_EQ(by_read_at(in, 10, 0).result, 10);  // its answer brings the event for all
    all.wait();
  });
  // How many threads there are in earnest depends on the disk, and on the machine: it is said, not judged.
  for (char const* const setting : {"iouringoff=1", "iouringoff=0"}) {
    test::with_debug const meanwhile(setting);
    run([&] {
      auto in = data.open_cold();
      wait_group all;
      read_all(in, all);
      all.wait();
      auto const now = read_stats();
      std::printf("%s: %d threads, %d reads waited without one, %d with\n", setting, now.threads,
                  static_cast<int>(now.file_reads_waited), static_cast<int>(now.file_reads_handed_off));
    });
  }
}

TEST_P(file_uring, NE_errors_and_ends_are_those_of_pread) {
  cold_file const data(3 * page_bytes + 10);
  auto const fifo = data.path() + ".fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  run_without_threads([&] {
    auto in = data.open_cold();
    auto update = file::open(fifo, open_for::update);
    auto directory = file::open("/");
    auto write_only = file::open(data.path(), open_for::append);
    auto direct = file::open(data.path());
    static_cast<void>(::fcntl(direct.native_handle(), F_SETFL, O_DIRECT));  // where the file system knows it
    auto proc = file::open("/proc/self/comm");
    file none;
    struct place {
      std::size_t bytes;
      std::uint64_t offset;
    };
    for (bool const is_cold : {false, true}) {
      for (file* const each : {&in, &update, &directory, &write_only, &direct, &proc, &none}) {
        for (place const at : {place{0, 0}, place{10, 0}, place{3 * page_bytes, 5}, place{page_bytes, 3 * page_bytes},
                               place{10, 3 * page_bytes + 10}, place{10, 1ULL << 40U}, place{10, INT64_MAX - 10},
                               place{10, INT64_MAX}, place{10, 1ULL << 63U}, place{10, UINT64_MAX}}) {
          if (is_cold) nothing_is_in_memory();
          EXPECT_EQ(by_read_at(*each, at.bytes, at.offset), by_pread(each->native_handle(), at.bytes, at.offset))
              << (is_cold ? "cold " : "") << each->native_handle() << ": " << at.bytes << " at " << at.offset;
          clear_faults();
        }
      }
    }
    std::array<char, 10> bytes{};
    std::error_code error;
    nothing_is_in_memory();
    EXPECT_EQ(in.read_at(mutable_buffer(nullptr, 10), 0, error), 0U);
    EXPECT_EQ(error, std::errc::bad_address);
    clear_faults();
    in.close();
    EXPECT_EQ(in.read_at(bytes, 0, error), 0U);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
  });
  std::filesystem::remove(fifo);
}

TEST_P(file_uring, NE_the_stats_tell_the_ways_and_iouringoff_leaves_the_uring_alone) {
  cold_file const data(4 * page_bytes);
  auto const read_three = [&] {
    auto in = data.open_cold();
    for (std::size_t i = 0; i < 3; ++i) {
      nothing_is_in_memory();
      EXPECT_EQ(by_read_at(in, 100, i * page_bytes).result, 100);
    }
  };
  run_without_threads([&] {
    read_three();
    EXPECT_EQ(read_stats().file_reads_waited, 3U);
    EXPECT_EQ(read_stats().file_reads_handed_off, 0U);
  });
  test::with_debug const meanwhile("iouringoff=1");
  run_without_threads([&] {
    clear_faults();
    rt::os::count_calls();
    read_three();
    EXPECT_EQ(read_stats().file_reads_waited + read_stats().file_reads_handed_off, 0U);
    EXPECT_EQ(rt::os::calls_made(call::memory_read) + rt::os::calls_made(call::uring_setup), 0U);
  });
}

TEST_P(file_uring, NE_a_goroutine_that_keeps_its_thread_reads_on_it) {
  cold_file const data(4 * page_bytes);
  run_without_threads([&] {
    auto in = data.open_cold();
    spawn([&] {
      os_thread_lock const locked;
      EXPECT_EQ(by_read_at(in, 100, 0), (answer{100, data.text().substr(0, 100)}));
    }).join();
    {
      blocking_scope const announced;
      EXPECT_EQ(by_read_at(in, 100, page_bytes), (answer{100, data.text().substr(page_bytes, 100)}));
    }
    std::thread outside([&] {
      EXPECT_EQ(by_read_at(in, 100, 2 * page_bytes), (answer{100, data.text().substr(2 * page_bytes, 100)}));
    });
    blocking([&] { outside.join(); });
    EXPECT_EQ(read_stats().file_reads_waited, 0U);
  });
}

TEST_P(file_uring, NE_the_end_of_a_run_leaves_nothing_of_reads_under_way) {
  cold_file const data(64 * page_bytes);
  run([&] { static_cast<void>(data.open_cold()); });
  int const before = test::open_descriptors();
  int const stayed_before = rt::Sched::threads_asleep_for_good.load(rt::relaxed);
  auto in = data.open_cold();  // outlives the runs
  for (std::int64_t i = scaled(10, 3); i > 0; --i) {
    auto buffers = std::make_unique<std::array<std::array<char, page_bytes>, 64>>();
    cold_file::drop(in);
    std::atomic<int> begun{0};
    run_without_threads([&] {
      for (std::size_t each = 0; each < 64; ++each) {
        go([&, each, room = buffers.get()] {
          ++begun;
          std::error_code error;
          in.read_at((*room)[each], each * page_bytes, error);
        });
      }
      ASSERT_TRUE(wait_until([&] { return begun > 8; }));
    });
    buffers.reset();
    // A disk that takes more than the 0.2 s that a run waits for it keeps a thread and a descriptor.
    ASSERT_LE(test::open_descriptors(), before + rt::Sched::threads_asleep_for_good.load(rt::relaxed) - stayed_before);
  }
}

TEST_P(file_uring, NE_a_disk_that_does_not_answer_does_not_keep_the_run_from_ending) {
  cold_file const data(4 * page_bytes);
  auto in = data.open_cold();
  std::array<char, 10> bytes{};  // the goroutine that is left behind will not touch it
  run_without_threads([&] {
    inject_fault(call::uring_answers, EAGAIN, 0, fault_for_good);
    nothing_is_in_memory();
    go([&] { in.read_at(bytes, 0); });
    ASSERT_TRUE(wait_until([&] { return rt::os::calls_made(call::uring_answers) != 0; }));
  });
  clear_faults();
  run_without_threads([&] {
    nothing_is_in_memory();
    EXPECT_EQ(in.read_at(bytes, 5), 10U) << "the next run has a uring of its own";
    EXPECT_EQ(read_stats().file_reads_waited, 1U);
  });
}

TEST_P(file_uring, NE_a_file_that_is_closed_beside_a_reader_is_closed_after_it) {
  if (rt::with_tsan) GTEST_SKIP() << "closing beside a reader is a race by design, and is said to be";
  cold_file const data(4 * page_bytes);
  run_without_threads([&] {
    auto in = data.open_cold();
    auto other = data.open_cold();
    inject_fault(call::uring_answers, EAGAIN, 0, fault_for_good);
    nothing_is_in_memory();
    auto reader = spawn([&] { return by_read_at(in, 10, 20); });
    ASSERT_TRUE(wait_until([&] { return rt::os::calls_made(call::uring_answers) != 0; }));
    int const number = in.native_handle();
    std::atomic<bool> is_closed{false};
    auto closer = spawn([&] {
      in.close();
      is_closed = true;
    });
    ASSERT_TRUE(wait_until([&] { return !in.is_open(); }));
    EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC) << "it is still open";
    EXPECT_FALSE(is_closed);
    clear_faults();
    nothing_is_in_memory();
    EXPECT_EQ(by_read_at(other, 10, 0).result, 10);  // its answer brings the event for both
    EXPECT_EQ(reader.join(), (answer{10, data.text().substr(20, 10)}));
    closer.join();
  });
}

TEST_P(file_uring, NE_a_file_that_is_cut_short_while_it_is_waited_for_has_ended) {
  cold_file const data(4 * page_bytes);
  run_without_threads([&] {
    auto in = data.open_cold();
    inject_fault(call::uring_answers, EAGAIN, 0, fault_for_good);
    nothing_is_in_memory();
    auto reader = spawn([&] { return by_read_at(in, 10, 2 * page_bytes); });
    ASSERT_TRUE(wait_until([&] { return rt::os::calls_made(call::uring_answers) != 0; }));
    std::filesystem::resize_file(data.path(), page_bytes);
    clear_faults();
    nothing_is_in_memory();
    EXPECT_EQ(by_read_at(in, 10, 0).result, 10);  // its answer brings the event for both
    EXPECT_EQ(reader.join(), (answer{0, ""})) << "the byte was there when the kernel answered";
    nothing_is_in_memory();
    EXPECT_EQ(by_read_at(in, 10, 2 * page_bytes), (answer{0, ""})) << "and now it is not";
  });
}

TEST_P(file_uring, NE_calls_that_a_signal_interrupts_are_made_again) {
  cold_file const data(4 * page_bytes);
  run_without_threads([&] {
    auto in = data.open_cold();
    inject_fault(call::memory_read, EINTR, 0, 3);
    EXPECT_EQ(by_read_at(in, 10, 20), (answer{10, data.text().substr(20, 10)}));
  });
}

TEST_P(file_uring, NE_the_world_is_stopped_and_resized_beside_readers) {
  constexpr std::size_t pages = 64;
  cold_file const data(pages * page_bytes);
  run_without_threads([&] {
    auto in = data.open_cold();
    std::atomic<bool> stop{false};
    std::atomic<int> reads{0};
    wait_group readers;
    for (std::size_t each = 0; each < 16; ++each) {
      readers.go([&, each] {
        for (std::size_t i = each; !stop; i = (i + 17) % pages) {
          nothing_is_in_memory();
          EXPECT_EQ(by_read_at(in, 100, i * page_bytes), (answer{100, data.text().substr(i * page_bytes, 100)}));
          ++reads;
        }
      });
    }
    for (std::int64_t i = 0; i < scaled(60, 10); ++i) {
      int const before = reads;
      set_max_procs(1 + static_cast<int>(i) % procs());
      EXPECT_TRUE(wait_until([&] { return reads > before + 16; })) << "they go on";
    }
    stop = true;
    readers.wait();
    EXPECT_GT(read_stats().file_reads_waited, 0U);
  });
}

TEST_P(file_uring, NE_many_runs_leave_no_descriptor_and_no_thread) {
  cold_file const data(4 * page_bytes);
  auto in = data.open_cold();  // outlives the runs
  auto const read_in_a_run = [&] {
    run_without_threads([&] {
      nothing_is_in_memory();
      EXPECT_EQ(by_read_at(in, 10, 20).result, 10);
      EXPECT_EQ(read_stats().file_reads_waited, 1U);
    });
  };
  read_in_a_run();
  int const descriptors = test::open_descriptors();
  int const threads = rt::os::count_process_threads();
  for (std::int64_t i = procs() > 2 ? scaled(40, 10) : scaled(200, 20); i > 0 && !HasFailure(); --i) {
    read_in_a_run();
    ASSERT_EQ(test::open_descriptors(), descriptors);
  }
  EXPECT_TRUE(wait_until([&] { return rt::os::count_process_threads() <= threads; }));
}

TEST_P(file_uring, NE_a_child_has_nothing_of_the_uring) {
  cold_file const data(4 * page_bytes);
  auto const rings = [] {
    return test::descriptors_of([](std::string const& what) { return what == "anon_inode:[io_uring]"; });
  };
  int const before = rings();
  run_without_threads([&] {
    auto in = data.open_cold();
    nothing_is_in_memory();
    EXPECT_EQ(by_read_at(in, 10, 20).result, 10);
    EXPECT_EQ(rings(), before + 1);
    int status = -1;
    blocking([&] {
      pid_t const child = ::fork();
      if (child == 0) ::_exit(rings() - before);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
    });
    EXPECT_EQ(status, 0);
    nothing_is_in_memory();
    EXPECT_EQ(by_read_at(in, 10, page_bytes).result, 10) << "the parent goes on";
    EXPECT_EQ(read_stats().file_reads_waited, 2U);
  });
  EXPECT_EQ(rings(), before);
}

}  // namespace
}  // namespace thrum
