// Sets THRUM_DEBUG for the lifetime of an object, and restores its value afterwards.
//
//   with_debug const meanwhile("asyncpreemptoff=1,slice=1000");
//   run_at(1, [] { ... });
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace thrum::test {

class with_debug {
 public:
  explicit with_debug(std::string const& settings) {
    if (char const* const set = std::getenv(name)) before_ = set;
    ::setenv(name, settings.c_str(), 1);
  }
  ~with_debug() {
    if (before_) {
      ::setenv(name, before_->c_str(), 1);
    } else {
      ::unsetenv(name);
    }
  }
  with_debug(with_debug const&) = delete;
  with_debug& operator=(with_debug const&) = delete;

 private:
  static constexpr char const* name = "THRUM_DEBUG";

  std::optional<std::string> before_;
};

}  // namespace thrum::test
