// What `thrum top` shows, as lines of text: the same for the terminal and for --once.
#pragma once

#include "command/target/figures.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum::command {

// The goroutines that were created at one place and are in the same state.
struct top_group {
  std::uint64_t count = 0;
  std::string state{};
  std::string reason{};
  std::int64_t longest_ns = 0;
  std::string place{};
};

// The answer to the request `goroutines`.
[[nodiscard]] std::vector<top_group> groups_of(std::string_view answer);

enum class top_order : unsigned char { count, longest, state, place };
[[nodiscard]] char const* name_of(top_order order);
[[nodiscard]] top_order next(top_order order);

struct top_line {
  enum class look : unsigned char { plain, heading, title };
  std::string text{};
  look as = look::plain;
};

class top_view {
 public:
  explicit top_view(std::string name) : name_(std::move(name)) {}

  void take(figures now, std::vector<top_group> groups);
  // The first figures have no rates.
  [[nodiscard]] bool has_rates() const noexcept { return !before_.all().empty(); }

  void set_order(top_order order) noexcept { order_ = order; }
  [[nodiscard]] top_order order() const noexcept { return order_; }
  // Shows only groups in whose state, reason or place this text is found; upper and lower case are the same.
  void set_search(std::string text) { search_ = std::move(text); }
  [[nodiscard]] std::string const& search() const noexcept { return search_; }
  // How many groups at the top of the list are not shown.
  void scroll(long by);
  void show_ps(bool wanted) noexcept { shows_ps_ = wanted; }
  [[nodiscard]] bool shows_ps() const noexcept { return shows_ps_; }

  [[nodiscard]] std::vector<top_line> lines(std::size_t rows, std::size_t columns) const;

 private:
  void add_summary(std::vector<top_line>& to) const;
  void add_ps(std::vector<top_line>& to, std::size_t rows) const;
  void add_groups(std::vector<top_line>& to, std::size_t rows, std::size_t columns) const;
  [[nodiscard]] std::vector<top_group> found_groups() const;

  std::string const name_;
  figures before_;
  figures now_;
  figures sums_before_;
  figures sums_;
  std::vector<top_group> groups_;
  top_order order_ = top_order::count;
  std::string search_;
  std::size_t skipped_ = 0;
  bool shows_ps_ = true;
};

}  // namespace thrum::command
