// flockfile belongs to the thread, so docs/posix.md asks a goroutine that holds it over a call that parks to keep its
// thread to itself.
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdio>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

class held_over_a_call : public at_every_width {};
THRUM_AT_WIDTHS(held_over_a_call, 1, 2, 8);

TEST_P(held_over_a_call, flockfile_excludes_other_goroutines_if_each_has_its_thread_to_itself) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  run([&] {
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.add(1);
      go([&] {
        for (int round = 0; round < 5; ++round) {
          os_thread_lock const own;
          ::flockfile(file);
          if (++inside != 1) ++overlaps;
          ::usleep(1'000);  // parks
          --inside;
          ::funlockfile(file);
        }
        all.done();
      });
    }
    all.wait();
  });
  EXPECT_EQ(overlaps, 0);
  std::fclose(file);
}

}  // namespace
}  // namespace thrum::test
