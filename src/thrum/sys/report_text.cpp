#include "sys/report_text.h"

#include "base/standard_error.h"
#include "os/clock.h"
#include "os/memory.h"

#include <cstdarg>
#include <cstdio>

namespace thrum::rt {

bool report_text::can_begin() noexcept {
  write_some();
  return text_ == nullptr && !stderr_would_wait();
}

void report_text::begin(std::size_t bytes) noexcept {
  drop();
  text_ = os::map(bytes).address;
  bytes_ = bytes;
  last_step_ns_ = os::monotonic_ns();
}

void report_text::add(char const* format, ...) noexcept {
  if (text_ == nullptr || is_full_) return;
  std::size_t const room = bytes_ - used_;
  std::va_list arguments;
  va_start(arguments, format);
  int const length = std::vsnprintf(text_ + used_, room, format, arguments);
  va_end(arguments);
  is_full_ = length < 0 || static_cast<std::size_t>(length) >= room;
  if (!is_full_) used_ += static_cast<std::size_t>(length);
}

void report_text::send() noexcept {
  while (is_full_ && used_ > 0 && text_[used_ - 1] != '\n') --used_;
  write_some();
}

bool report_text::is_under_way() const noexcept {
  constexpr std::int64_t patience_ns = 10'000'000'000;
  return text_ != nullptr && os::monotonic_ns() - last_step_ns_ < patience_ns;
}

void report_text::write_some() noexcept {
  if (written_ < used_) {
    std::size_t const taken = write_to_stderr_at_once(text_ + written_, used_ - written_);
    if (taken != 0) last_step_ns_ = os::monotonic_ns();
    written_ += taken;
  }
  if (written_ == used_) drop();
}

void report_text::drop() noexcept {
  if (text_ != nullptr) os::unmap(text_, bytes_);
  text_ = nullptr;
  bytes_ = used_ = written_ = 0;
  is_full_ = false;
}

}  // namespace thrum::rt
