#include "debug/trace_file.h"

#include "os/files.h"

#include <cerrno>
#include <utility>

namespace thrum::rt::trace {
namespace {

constexpr std::size_t piece_bytes = 256 * 1024;
constexpr unsigned permissions = 0644;

}  // namespace

file::~file() { give_up(); }

void file::give_up() noexcept {
  if (fd_ >= 0) static_cast<void>(os::close_file(std::exchange(fd_, -1)));
}

int file::open(std::string const& path) {
  int const opened = os::open_to_write_alone(path.c_str(), permissions);
  if (opened < 0) return -opened;
  give_up();  // if there was no memory to write the last one
  fd_ = opened;
  error_ = 0;
  offset_ = 0;
  pending_.clear();
  pending_.reserve(2 * piece_bytes);
  return 0;
}

void file::append(void const* bytes, std::size_t count) {
  auto const* const from = static_cast<std::byte const*>(bytes);
  pending_.insert(pending_.end(), from, from + count);
}

void file::write_header(file_header const& header) { append(&header, sizeof header); }

void file::write_block(block_header header, std::span<std::byte const> contents) {
  header.bytes = static_cast<std::uint32_t>(contents.size());
  append(&header, sizeof header);
  append(contents.data(), contents.size());
  if (pending_.size() >= piece_bytes) flush();
}

void file::flush() {
  std::size_t done = 0;
  while (error_ == 0 && done < pending_.size()) {
    long const written = os::write_at(fd_, pending_.data() + done, pending_.size() - done, offset_);
    if (written == -EINTR) continue;
    if (written <= 0) {
      error_ = written == 0 ? EIO : static_cast<int>(-written);
    } else {
      done += static_cast<std::size_t>(written);
      offset_ += static_cast<std::uint64_t>(written);
    }
  }
  pending_.clear();
}

int file::close() {
  flush();
  int const closed = os::close_file(std::exchange(fd_, -1));
  return error_ != 0 ? error_ : -closed;
}

}  // namespace thrum::rt::trace
