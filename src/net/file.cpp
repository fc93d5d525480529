#include "net/io_call.h"
#include "os/files.h"
#include "os/socket.h"
#include <thrum/blocking.h>
#include <thrum/file.h>

namespace thrum {

using namespace rt;

namespace {

// The call's answer, with -errno as an error.
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

}  // namespace

file file::open(std::string const& path, open_for what, unsigned permissions, std::error_code& error) {
  file made;
  auto const descriptor = announced(error, [&]() -> int {
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
  static_cast<void>(announced(error, [=] { return descriptor < 0 ? -EBADF : os::close_file(descriptor); }));
}

void file::drop() noexcept {
  if (descriptor_ < 0) return;
  static_cast<void>(blocking([descriptor = std::exchange(descriptor_, -1)] { return os::close_file(descriptor); }));
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
  return announced(error, [&] { return os::read_at(descriptor_, to.data(), to.size(), offset); });
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
