// Sets a variable of the environment for the lifetime of an object, or removes it, and restores it afterwards.
//
//   with_environment const meanwhile("THRUM_CHAOS_STOPS", std::nullopt);  // removed
//   run_at(1, [] { ... });
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace thrum::test {

class with_environment {
 public:
  with_environment(char const* name, std::optional<std::string> const& value) : name_(name) {
    if (char const* const set = std::getenv(name)) before_ = set;
    change_to(value);
  }
  ~with_environment() { change_to(before_); }
  with_environment(with_environment const&) = delete;
  with_environment& operator=(with_environment const&) = delete;

 protected:
  static std::string with_option(char const* name, char const* option) {
    char const* const set = std::getenv(name);
    return std::string(set != nullptr ? set : "") + ":" + option;
  }

 private:
  void change_to(std::optional<std::string> const& value) {
    if (value) {
      ::setenv(name_, value->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

  char const* name_;
  std::optional<std::string> before_;
};

// The programs that the test starts meanwhile do not report threads that have ended and that were not joined, which
// ThreadSanitizer looks for when a program ends. It is for tests of an exit() that interrupts the end of a run: the
// threads that the run would have joined may have ended.
class without_reports_of_unjoined_threads : public with_environment {
 public:
  without_reports_of_unjoined_threads()
      : with_environment("TSAN_OPTIONS", with_option("TSAN_OPTIONS", "report_thread_leaks=0")) {}
};

}  // namespace thrum::test
