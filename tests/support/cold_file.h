// A file with known bytes that can be dropped from the page cache.
#pragma once

#include "os/epoll.h"
#include "os/fault.h"
#include "os/uring.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include <thrum/file.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {

class cold_file {
 public:
  static constexpr std::size_t page_bytes = 4096;

  explicit cold_file(std::size_t bytes) : path_(fresh_path()), text_(bytes, '\0') {
    for (std::size_t i = 0; i < bytes; ++i) text_[i] = static_cast<char>('a' + (i / 7 + i / page_bytes) % 26);
    auto out = file::open(path_, open_for::write);
    EXPECT_EQ(out.write_all(text_), bytes);
    out.sync();
  }
  ~cold_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  cold_file(cold_file const&) = delete;
  cold_file& operator=(cold_file const&) = delete;

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::string const& text() const { return text_; }
  // Opens the file for reading. If it is on a disk, none of its bytes are in memory.
  [[nodiscard]] file open_cold() const {
    auto in = file::open(path_);
    drop(in);
    EXPECT_EQ(::posix_fadvise(in.native_handle(), 0, 0, POSIX_FADV_RANDOM), 0);  // no read-ahead
    return in;
  }
  static void drop(file const& in) { EXPECT_EQ(::posix_fadvise(in.native_handle(), 0, 0, POSIX_FADV_DONTNEED), 0); }

 private:
  static std::string fresh_path() {
    static int number = 0;
    return (std::filesystem::temp_directory_path() /
            ("thrum_cold_" + std::to_string(::getpid()) + '_' + std::to_string(number++)))
        .string();
  }

  std::string path_;
  std::string text_;
};

// The fixture for tests of cold reads. It clears the injected faults before and after each test.
class cold_reading : public at_every_width {
 protected:
  void SetUp() override { rt::os::clear_faults(); }
  void TearDown() override { rt::os::clear_faults(); }

  // Runs with a setting in which even a single cold read waits for io_uring, instead of keeping its thread.
  template <class F>
  static int run_without_threads(F body) {
    return run([&] {
      this_sched().cold_reads.few.store(0, rt::relaxed);
      body();
    });
  }
};

// True if this kernel lets the process use io_uring.
[[nodiscard]] inline bool uring_is_available() {
  rt::os::uring tried;
  return rt::os::open_poll() == 0 && tried.open() == 0;
}

}  // namespace thrum::test
