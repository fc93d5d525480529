#include "request_parser.h"

#include "inline_words.h"
#include "numbers.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kv {

request_parser::outcome request_parser::next() {
  if (!error_.empty()) return outcome::broken;
  for (;;) {
    if (arguments_left_ == 0) begin_request();  // the previous request is done
    if (at_ == end_) return outcome::incomplete;
    bool const is_array = arguments_left_ != unknown || bytes_[at_] == '*';
    outcome const found = is_array ? parse_array() : parse_inline();
    if (found != outcome::request || !arguments_.empty()) return found;  // a request without arguments is skipped
  }
}

void request_parser::begin_request() noexcept {
  begin_ = at_;
  scanned_ = at_;
  arguments_left_ = unknown;
  clear(pieces_);
  clear(words_);
  clear(arguments_);
}

template <class T>
void request_parser::clear(std::vector<T>& parts) noexcept {
  parts.clear();
  if (parts.capacity() * sizeof(T) > capacity_idle_max) std::vector<T>().swap(parts);
}

request_parser::outcome request_parser::parse_array() {
  if (arguments_left_ == unknown) {
    auto const line = take_line('\r');
    if (!line) return waiting_bytes() > line_bytes_max ? broken("too big mbulk count string") : outcome::incomplete;
    auto const count = parse_integer(line->substr(1));
    if (!count || *count > arguments_max) return broken("invalid multibulk length");
    arguments_left_ = std::max<std::int64_t>(*count, 0);
  }
  for (; arguments_left_ > 0; --arguments_left_) {
    if (outcome const found = parse_bulk(); found != outcome::request) return found;
  }
  for (piece const& each : pieces_) arguments_.emplace_back(bytes_.get() + begin_ + each.offset, each.size);
  return outcome::request;
}

request_parser::outcome request_parser::parse_bulk() {
  if (bulk_bytes_ == unknown) {
    if (at_ == end_) return outcome::incomplete;
    auto const line = take_line('\r');
    if (!line) return waiting_bytes() > line_bytes_max ? broken("too big bulk count string") : outcome::incomplete;
    if (line->empty() || line->front() != '$') {
      return broken(std::string("expected '$', got '") + (line->empty() ? '\r' : line->front()) + "'");
    }
    auto const size = parse_integer(line->substr(1));
    if (!size || *size < 0 || *size > bulk_bytes_max) return broken("invalid bulk length");
    bulk_bytes_ = *size;
  }
  auto const size = static_cast<std::size_t>(bulk_bytes_);
  if (end_ - at_ < size + 2) return outcome::incomplete;
  pieces_.push_back({at_ - begin_, size});
  at_ += size + 2;  // the two bytes at its end are not checked, as in Redis
  scanned_ = at_;
  bulk_bytes_ = unknown;
  return outcome::request;
}

request_parser::outcome request_parser::parse_inline() {
  auto line = take_line('\n');
  if ((line ? line->size() : waiting_bytes()) > line_bytes_max) return broken("too big inline request");
  if (!line) return outcome::incomplete;
  if (line->ends_with('\r')) line->remove_suffix(1);
  auto words = split_words(*line);
  if (!words) return broken("unbalanced quotes in request");
  words_ = *std::move(words);
  arguments_left_ = 0;
  arguments_.assign(words_.begin(), words_.end());
  return outcome::request;
}

request_parser::outcome request_parser::broken(std::string why) {
  error_ = std::move(why);
  return outcome::broken;
}

// The line at at_, without its end, which is '\n', or '\r' and the byte after it.
std::optional<std::string_view> request_parser::take_line(char last) {
  char const* const bytes = bytes_.get();
  auto const* const found = static_cast<char const*>(std::memchr(bytes + scanned_, last, end_ - scanned_));
  scanned_ = found == nullptr ? end_ : static_cast<std::size_t>(found - bytes);
  std::size_t const after = scanned_ + (last == '\r' ? 2 : 1);
  if (after > end_) return std::nullopt;
  std::string_view const line(bytes + at_, scanned_ - at_);
  at_ = scanned_ = after;
  return line;
}

thrum::mutable_buffer request_parser::room() {
  bool const was_full = end_ == capacity_;
  if (at_ == end_ && arguments_left_ == 0) begin_request();
  if (begin_ == end_ && capacity_ > capacity_idle_max) resize(capacity_idle_max);
  if (begin_ != 0) {
    // At most once per request, because the request begins at 0 afterwards.
    if (begin_ != end_) std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
    at_ -= begin_;
    scanned_ -= begin_;
    end_ -= std::exchange(begin_, 0);
  }
  // The buffer doubles if a request needs it, or if more bytes came at once than there was room for.
  if (end_ > capacity_ / 2 || (was_full && capacity_ < capacity_idle_max))
    resize(std::max(2 * capacity_, capacity_min));
  return {bytes_.get() + end_, capacity_ - end_};
}

void request_parser::resize(std::size_t capacity) {
  auto larger = std::make_unique_for_overwrite<char[]>(capacity);
  if (begin_ != end_) std::memcpy(larger.get() + begin_, bytes_.get() + begin_, end_ - begin_);
  bytes_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace kv
