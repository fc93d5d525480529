// thrum::file (thrum/file.h). Each system call is an announced call, because epoll cannot wait for files. read_at can
// also park while io_uring fetches the bytes (wait/cold_read.h).
#include "net/address.h"
#include "net/io_call.h"
#include "os/files.h"
#include "os/socket.h"
#include "wait/cold_read.h"
#include <thrum/blocking.h>
#include <thrum/file.h>

namespace thrum {

using namespace rt;

namespace {

// Makes the call as an announced call. Returns its result; a result of -errno becomes `error`, and 0 is returned.
template <class F>
std::uint64_t announced(std::error_code& error, F call) {
  std::int64_t const result = blocking(call);
  error = result < 0 ? system_error_of(static_cast<int>(-result)) : std::error_code();
  return result < 0 ? 0 : static_cast<std::uint64_t>(result);
}

template <class F>
std::size_t write_whole(const_buffer from, std::error_code& error, F write) {
  std::size_t done = 0;
  do {
    auto const* const rest = static_cast<char const*>(from.data()) + done;
    done += announced(error, [&] { return write(rest, from.size() - done, done); });
  } while (!error && done < from.size());
  return done;
}

// Reads what can be read without keeping a thread during a wait for the disk: bytes that are in the page cache, and
// bytes that io_uring fetches while the goroutine is parked (page_wait). Ordinary reads that do not block copy the
// bytes. What cannot be read in this way, which includes errors, is left to the caller's blocking read.
struct part_read {
  std::size_t bytes;
  bool is_all;
};
part_read read_without_thread(page_wait& page, int fd, mutable_buffer to, std::uint64_t offset) {
  constexpr int waits_in_vain_max = 3;  // if memory is short, the kernel may drop a page before it is read
  std::size_t done = 0;
  for (int in_vain = 0; in_vain < waits_in_vain_max;) {
    auto* const rest = static_cast<char*>(to.data()) + done;
    long const got = blocking([&] { return os::read_from_memory(fd, rest, to.size() - done, offset + done); });
    if (got > 0) {
      done += static_cast<std::size_t>(got);
      in_vain = 0;
    }
    if (got == 0 || done == to.size()) return {done, true};
    if (got > 0) continue;
    if (got != -EAGAIN || page.keeps_thread()) break;
    if (!blocking([&] { return os::is_regular(fd); }) || !page.wait(offset + done)) break;
    ++in_vain;
  }
  return {done, false};
}

}  // namespace

file file::open(std::string const& path, open_for what, unsigned permissions, std::error_code& error) {
  file made;
  auto const descriptor = announced(error, [&]() -> int {
    if (has_nul(path)) return -EINVAL;
    switch (what) {
      case open_for::read: return os::open_to_read(path.c_str());
      case open_for::write: return os::open_to_write(path.c_str(), permissions);
      case open_for::append: return os::open_to_append(path.c_str(), permissions);
      case open_for::update: return os::open_to_update(path.c_str());
      case open_for::exclusive: return os::open_exclusively(path.c_str(), permissions);
    }
    return -EINVAL;
  });
  if (!error) made.descriptor_ = static_cast<int>(descriptor);
  return made;
}

void file::close(std::error_code& error) {
  int const descriptor = std::exchange(descriptor_, -1);
  wait_until_unread(descriptor);
  static_cast<void>(announced(error, [=] { return descriptor < 0 ? -EBADF : os::close_file(descriptor); }));
}

void file::drop() noexcept {
  std::error_code ignored;
  if (descriptor_ >= 0) close(ignored);
}

std::size_t file::read_some(mutable_buffer to, std::error_code& error) {
  return announced(error, [&] { return os::read(descriptor_, to.data(), to.size()); });
}

std::size_t file::write_all(const_buffer from, std::error_code& error) {
  return write_whole(from, error, [this](char const* rest, std::size_t bytes, std::size_t) {
    return os::write(descriptor_, rest, bytes);
  });
}

std::size_t file::read_at(mutable_buffer to, std::uint64_t offset, std::error_code& error) {
  int const fd = descriptor_;
  page_wait page(fd);
  std::size_t done = 0;
  // Beyond the range of off_t, read_from_memory and read_at do not behave alike, so only the latter is used there.
  if (to.size() != 0 && offset <= INT64_MAX - to.size() && pages_can_be_waited_for()) {
    auto const [bytes, is_all] = read_without_thread(page, fd, to, offset);
    error.clear();
    if (is_all) return bytes;
    done = bytes;
  }
  auto* const rest = static_cast<char*>(to.data()) + done;
  std::size_t const more = announced(error, [&] { return os::read_at(fd, rest, to.size() - done, offset + done); });
  if (!error || done == 0) return done + more;
  // Reading the rest may fail although reading the whole would not, because a file that bypasses the page cache
  // (O_DIRECT) has to be read in whole blocks. So the whole read is made.
  return announced(error, [&] { return os::read_at(fd, to.data(), to.size(), offset); });
}

std::size_t file::write_at(const_buffer from, std::uint64_t offset, std::error_code& error) {
  return write_whole(from, error, [this, offset](char const* rest, std::size_t bytes, std::size_t done) {
    return os::write_at(descriptor_, rest, bytes, offset + done);
  });
}

std::uint64_t file::size(std::error_code& error) const {
  return announced(error, [this] { return os::size_of_file(descriptor_); });
}

void file::sync(std::error_code& error) {
  static_cast<void>(announced(error, [this] { return os::sync_file(descriptor_); }));
}

}  // namespace thrum
