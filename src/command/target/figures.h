// The answer to the request `stats`: lines of a name and a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrum::command {

class figures {
 public:
  figures() = default;
  explicit figures(std::string_view answer);

  using entry = std::pair<std::string, std::string>;
  [[nodiscard]] std::vector<entry> const& all() const noexcept { return all_; }
  // 0, or an empty text: there is no such figure.
  [[nodiscard]] std::uint64_t number(std::string_view name) const;
  [[nodiscard]] std::string_view word(std::string_view name) const;

  // The same with the figures of all Ps added up: "procs.0.steals 3" and "procs.1.steals 4" become "procs.steals 7".
  // What cannot be added up is left out.
  [[nodiscard]] figures with_sums_of_procs() const;

 private:
  std::vector<entry> all_;
};

// Whether a figure only grows, so that its growth per second says more than its value.
[[nodiscard]] bool is_counter(std::string_view name);
[[nodiscard]] bool is_number(std::string_view value);
// How much a counter has grown per second from one to the other. 0 if no time has passed.
[[nodiscard]] double rate(figures const& before, figures const& now, std::string_view name);

}  // namespace thrum::command
