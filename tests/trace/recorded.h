// Traces that tests record, and what is in them.
#pragma once

#include "trace/reading.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {

// A file for a trace, which is removed at the end. The child process of a death test has the file of its parent.
class file_for_trace {
 public:
  file_for_trace() : is_ours_(!testing::internal::InDeathTestChild()) {
    constexpr char const* variable = "THRUM_TEST_TRACE_FILE";
    if (is_ours_) {
      char made[] = "/tmp/thrum_trace_XXXXXX";
      int const fd = ::mkstemp(made);
      if (fd >= 0) ::close(fd);
      name_ = made;
      ::setenv(variable, made, 1);
    } else if (char const* const parents = std::getenv(variable)) {
      name_ = parents;
    }
  }
  ~file_for_trace() {
    if (!is_ours_) return;
    std::error_code ignored;
    std::filesystem::remove(name_, ignored);
    std::filesystem::remove(name_ + ".2", ignored);
  }
  file_for_trace(file_for_trace const&) = delete;
  file_for_trace& operator=(file_for_trace const&) = delete;

  [[nodiscard]] std::string const& name() const { return name_; }
  [[nodiscard]] command::trace read() const { return command::analyse(command::read_trace_file(name_)); }

 private:
  bool const is_ours_;
  std::string name_;
};

// Expects that the trace is whole and that the reader has nothing to say against it.
inline void expect_sound(command::trace const& of) {
  EXPECT_EQ("", violations_of(of));
  EXPECT_TRUE(of.file.has_end);
}

// The events of one kind, in order.
inline std::vector<command::event> events_of(command::trace const& of, command::record_kind kind) {
  std::vector<command::event> found;
  for (command::event const& each : of.merged.events) {
    if (each.what->kind == kind) found.push_back(each);
  }
  return found;
}

// The texts of the log, in order.
inline std::vector<std::string> logged(command::trace const& of) {
  std::vector<std::string> texts;
  for (command::event const& each : events_of(of, command::record_kind::log)) texts.push_back(each.what->text());
  return texts;
}

// Every state that a goroutine was in, in order, between the first and the last record about it.
inline std::string records_of(command::trace const& of, std::uint64_t goroutine) {
  std::string all;
  for (command::event const& each : of.merged.events) {
    auto const* const format = command::format_of(each.what->kind);
    if (format == nullptr || format->about != command::subject::goroutine || each.what->argument(0) != goroutine)
      continue;
    all += (all.empty() ? "" : " ") + std::string(format->name);
  }
  return all;
}

}  // namespace thrum::test
