// The terminal, or the file that stands in for it: headings, wrapped sentences, a progress bar, coloured pieces.
//
// Colours and a bar that grows in place only on a terminal that can do it; NO_COLOR (https://no-color.org) is obeyed.
// Not for several goroutines at once: the tour writes from its main goroutine only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tour {

enum class ink { bold, faint, cyan, green, yellow, blue };

class screen {
 public:
  screen();  // standard output

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::string painted(ink colour, std::string_view text) const;  // unchanged where there is no colour

  // Each throws std::system_error when the output cannot be written.
  void line(std::string_view text = "");  // behind the margin
  void heading(std::string_view number, std::string_view title, std::string_view remark = "");
  void sentence(std::string_view text);  // wrapped

  // Call it as often as the count changes: it is drawn anew on a terminal, and only when complete elsewhere.
  void progress(std::uint64_t done, std::uint64_t all, std::string_view what);

  // Left of everything but the numbers of headings.
  static constexpr std::size_t margin = 3;

 private:
  std::size_t columns_;
  bool redraws_;
  bool coloured_;
};

}  // namespace tour
