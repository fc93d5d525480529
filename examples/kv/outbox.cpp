#include "outbox.h"

#include <chrono>
#include <mutex>
#include <system_error>
#include <utility>

namespace kv {
namespace {

constexpr std::size_t own_bytes_max = 64 * 1024;  // if more than this is unwritten, the client's own replies wait
constexpr auto time_to_end = std::chrono::seconds(1);

}  // namespace

// What is waiting is written, if the client reads it within a second.
outbox::~outbox() {
  std::error_code closed;
  to_.set_write_deadline(time_to_end, closed);
  {
    std::lock_guard const guard(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  writer_.join();
}

void outbox::post(std::string_view message) {
  {
    std::lock_guard const guard(mutex_);
    if (is_broken_) return;
    if (waiting_.size() + being_written_bytes_ + message.size() > bytes_max) {
      is_broken_ = true;
      waiting_ = {};
      std::error_code was_closed;
      to_.close(was_closed);  // ends the writer, and the goroutine that reads
    } else {
      waiting_.append(message);
    }
  }
  changed_.notify_all();
}

bool outbox::send(std::string_view replies) {
  std::unique_lock lock(mutex_);
  waiting_.append(replies);
  changed_.notify_all();
  changed_.wait(lock, [&] { return is_broken_ || waiting_.size() + being_written_bytes_ <= own_bytes_max; });
  return !is_broken_;
}

void outbox::write() {
  std::string text;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !waiting_.empty() || is_broken_ || is_ending_; });
    if (is_broken_ || waiting_.empty()) return;
    text.clear();
    std::swap(text, waiting_);
    being_written_bytes_ = text.size();
    lock.unlock();
    std::error_code failed;
    to_.write_all(text, failed);
    lock.lock();
    being_written_bytes_ = 0;
    is_broken_ |= static_cast<bool>(failed);
    changed_.notify_all();  // send() may continue
  }
}

}  // namespace kv
