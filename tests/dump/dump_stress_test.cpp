// A dump of as many goroutines as one lists, in bounded memory (S01).
#include "os/clock.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/types.h>

namespace thrum {
namespace {

// A file that counts the bytes that are written to it.
class counted_file {
 public:
  counted_file() {
    cookie_io_functions_t functions{};
    functions.write = [](void* self, char const*, std::size_t bytes) {
      *static_cast<std::size_t*>(self) += bytes;
      return static_cast<ssize_t>(bytes);
    };
    file_ = ::fopencookie(&bytes_, "w", functions);
  }
  ~counted_file() { std::fclose(file_); }
  counted_file(counted_file const&) = delete;
  counted_file& operator=(counted_file const&) = delete;

  [[nodiscard]] std::FILE* file() const noexcept { return file_; }
  [[nodiscard]] std::size_t bytes() {
    std::fflush(file_);
    return bytes_;
  }

 private:
  std::size_t bytes_ = 0;
  std::FILE* file_;
};

std::int64_t peak_bytes() {
  rusage now{};
  ::getrusage(RUSAGE_SELF, &now);
  return std::int64_t{now.ru_maxrss} * 1024;
}

TEST(dump_of_crowds, S01_a_hundred_thousand_are_dumped_in_every_form_in_bounded_memory) {
  auto const crowd = static_cast<int>(test::scaled(99'990, 1'000));
  test::run_at(2, [&] {
    {  // opening the debug information takes memory once
      counted_file out;
      dump_leaks(out.file());
    }
    chan<int> c;
    wait_group all;
    for (int i = 0; i < crowd; ++i) all.go([&] { static_cast<void>(c.recv()); });
    ASSERT_TRUE(test::wait_until([&] { return test::waiting_for(rt::wait_reason::chan_receive) == crowd; }));
    std::int64_t const before = peak_bytes();
    struct {
      char const* name;
      dump_options how;
    } const forms[] = {{"text, each", {dump_format::text, dump_stacks::each}},
                       {"JSON, each", {dump_format::json, dump_stacks::each}},
                       {"text, grouped", {dump_format::text, dump_stacks::grouped}},
                       {"JSON, grouped", {dump_format::json, dump_stacks::grouped}}};
    for (auto const& form : forms) {
      counted_file out;
      auto const stopped_before = read_stats().stopped_for.total;
      std::int64_t const began_ns = rt::os::monotonic_ns();
      dump_goroutines(out.file(), form.how);
      std::int64_t const took_ns = rt::os::monotonic_ns() - began_ns;
      auto const stopped = read_stats().stopped_for.total - stopped_before;
      EXPECT_GT(out.bytes(), 200U);
      if (form.how.stacks == dump_stacks::each) {
        EXPECT_GT(out.bytes(), static_cast<std::size_t>(crowd) * 100);
      }
      std::printf("%-14s %6.0f ms, world stopped for %6.1f ms, %9zu bytes, peak memory +%lld KiB\n", form.name,
                  static_cast<double>(took_ns) / 1e6, static_cast<double>(stopped.count()) / 1e6, out.bytes(),
                  static_cast<long long>((peak_bytes() - before) / 1024));
    }
    // Far less than the text of all, and than the stacks: what is noted of a goroutine, and its place in a group.
    if (!rt::with_asan && !rt::with_tsan) {
      EXPECT_LT(peak_bytes() - before, std::int64_t{128} << 20U);
    }
    c.close();
    all.wait();
  });
}

}  // namespace
}  // namespace thrum
