#include "sys/report_text.h"

#include "base/check.h"
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

void report_text::write_some() noexcept {
  if (written_ < used_) written_ += write_to_stderr_at_once(text_ + written_, used_ - written_);
  if (written_ == used_) drop();
}

void report_text::drop() noexcept {
  if (text_ != nullptr) os::unmap(text_, bytes_);
  text_ = nullptr;
  bytes_ = used_ = written_ = 0;
  is_full_ = false;
}

}  // namespace thrum::rt
