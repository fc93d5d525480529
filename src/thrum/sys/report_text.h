// Text that sysmon writes to standard error. sysmon must not wait: if standard error is a pipe that is full and that no
// process reads, slices would end no more, and no system call would lose its P.
//
// So a report begins only if standard error says that it takes some of it. What it does not take is kept, and the next
// look of sysmon goes on with it. All reports of sysmon go through one object, so that their lines do not mix.
//
// Used by sysmon's thread only. No locks. The text is in memory of its own, because sysmon must not allocate (T01).
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

class report_text {
 public:
  constexpr report_text() noexcept = default;
  ~report_text() { drop(); }
  report_text(report_text const&) = delete;
  report_text& operator=(report_text const&) = delete;

  // Writes what is left of the last report. Returns whether all of it is written and a write would not wait.
  [[nodiscard]] bool can_begin() noexcept;

  // Begins a report of at most this many bytes, after can_begin. Without memory for it, nothing is written.
  void begin(std::size_t bytes) noexcept;
  // Whole lines: a line that does not fit is left out, and so are all that follow.
  void add(char const* format, ...) noexcept __attribute__((format(printf, 2, 3)));
  // Writes what standard error takes.
  void send() noexcept;
  // The same for what is left of a report.
  void go_on() noexcept {
    if (text_ != nullptr) write_some();
  }
  // Whether text is left that standard error may yet take. False after ten seconds in which it took nothing, because
  // sysmon does not stay awake for a terminal that no process reads.
  [[nodiscard]] bool is_under_way() const noexcept;

 private:
  void write_some() noexcept;
  void drop() noexcept;

  char* text_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;
  std::size_t written_ = 0;
  std::int64_t last_step_ns_ = 0;  // when the report began, or when standard error last took some of it
  bool is_full_ = false;
};

}  // namespace thrum::rt
