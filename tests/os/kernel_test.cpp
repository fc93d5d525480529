#include "os/kernel.h"

#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

class kernel_calls : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(ends_.data()), 0); }
  void TearDown() override {
    for (int const end : ends_) EXPECT_EQ(kernel::close(end), 0);
  }

  std::array<int, 2> ends_{-1, -1};
};

TEST_F(kernel_calls, T08_they_answer_as_the_c_librarys_do) {
  std::array<char, 4> said{};
  std::array<iovec, 2> parts{{{said.data(), 1}, {said.data() + 1, 3}}};
  EXPECT_EQ(kernel::write(ends_[1], "abc", 3), 3);
  EXPECT_EQ(kernel::readv(ends_[0], parts.data(), 2), 3);
  EXPECT_EQ(std::string_view(said.data()), "abc");
  EXPECT_EQ(kernel::read(-1, said.data(), said.size()), -1);
  EXPECT_EQ(errno, EBADF);
}

// By number it would not look.
TEST_F(kernel_calls, T08_address_sanitizer_sees_the_memory_they_are_given) {
  if (!with_asan) GTEST_SKIP() << "there is no AddressSanitizer";
  auto const four = std::make_unique<std::array<char, 4>>();
  std::array<char, 64> const much{};
  ASSERT_EQ(kernel::write(ends_[1], much.data(), much.size()), 64);
  EXPECT_DEATH(static_cast<void>(kernel::read(ends_[0], four->data(), much.size())), "heap-buffer-overflow");
}

}  // namespace
}  // namespace thrum::rt::os
