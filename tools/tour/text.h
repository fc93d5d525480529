// Numbers and strings as the tour shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tour {

std::string with_commas(std::uint64_t number);        // 1,234,567
std::string compact(std::uint64_t number);            // at most five columns: 9999, 12.3k, 1.23M
std::string milliseconds(std::uint64_t nanoseconds);  // 0.7 ms, 73 ms, 1,204 ms
std::string mebibytes(std::uint64_t bytes);           // 0.4 MB, 21 MB

// Columns on the screen, not bytes: a block character takes three bytes and one column.
std::size_t columns_of(std::string_view text);
std::string pad_left(std::string_view text, std::size_t columns);
std::string pad_right(std::string_view text, std::size_t columns);
std::string repeated(std::string_view piece, std::size_t times);

// Broken at spaces into lines of at most so many columns; a longer word stands alone on its line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace tour
