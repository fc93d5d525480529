// What a buffer is made from, and how many bytes it has.
#include "support/run_at.h"
#include "support/sockets.h"
#include <thrum/thrum.h>

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::string_view_literals;

std::string bytes_of(const_buffer b) { return {static_cast<char const*>(b.data()), b.size()}; }

struct frame {
  char tag[4];
  char secret[8];
};

std::string sent_by(const_buffer what) {
  std::string got(64, '?');
  test::run_at(2, [&] {
    auto [a, b] = test::socket_pair();
    a.write_all(what);
    a.close();
    std::size_t all = 0;
    while (auto const n = b.read_some({got.data() + all, got.size() - all})) all += n;
    got.resize(all);
  });
  return got;
}

TEST(buffer, a_char_array_without_a_zero_is_not_read_beyond_its_end) {
  frame f{{'a', 'b', 'c', 'd'}, "secret"};
  EXPECT_EQ(sent_by(f.tag), "abcd");
}

TEST(buffer, a_zero_inside_a_char_array_does_not_end_it) {
  char bytes[] = {1, 0, 2, 3};
  EXPECT_EQ(sent_by(bytes), "\1\0\2\3"sv);
}

TEST(buffer, a_zero_at_the_end_of_a_char_array_is_one_of_its_bytes) {
  char bytes[] = {'a', 0};
  EXPECT_EQ(bytes_of(bytes), "a\0"sv);
  struct {
    char tag[2]{'b', 0};
  } made;
  EXPECT_EQ(bytes_of(std::move(made).tag), "b\0"sv);
}

TEST(buffer, a_literal_is_its_text_with_the_zeros_inside_of_it) {
  EXPECT_EQ(sent_by("text"), "text");
  EXPECT_EQ(bytes_of("a\0b"), "a\0b"sv);
  EXPECT_EQ(bytes_of("a\0"), "a\0"sv);
  EXPECT_EQ(const_buffer("").size(), 0U);
  EXPECT_EQ(const_buffer(u8"text").size(), 4U);
  EXPECT_EQ(const_buffer(u"text").size(), 8U);
}

TEST(buffer, a_constant_array_without_a_zero_is_all_of_its_bytes) {
  static constexpr char magic[] = {'P', 'K', 3, 4};
  EXPECT_EQ(bytes_of(magic), "PK\3\4");
}

TEST(buffer, arrays_of_other_types_are_all_of_their_bytes) {
  int numbers[3]{1, 2, 3};
  int const constants[3]{1, 2, 3};
  unsigned char const octets[3]{1, 2, 0};
  EXPECT_EQ(const_buffer(numbers).size(), sizeof numbers);
  EXPECT_EQ(mutable_buffer(numbers).size(), sizeof numbers);
  EXPECT_EQ(const_buffer(constants).size(), sizeof constants);
  EXPECT_EQ(const_buffer(octets).size(), 3U);
  static_assert(!std::convertible_to<char const*(&)[2], const_buffer>, "pointers are no bytes to send");
  static_assert(!std::convertible_to<char const*, const_buffer>);
  static_assert(!std::convertible_to<char const(&)[2], mutable_buffer>);
}

TEST(buffer, literals_and_strings_go_together) {
  std::string const middle = "two ";
  std::array<const_buffer, 3> const parts{"one ", middle, "three"};
  std::string all;
  for (const_buffer const& part : parts) all += bytes_of(part);
  EXPECT_EQ(all, "one two three");
}

}  // namespace
}  // namespace thrum
