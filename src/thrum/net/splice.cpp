// thrum::splice_all (thrum/fd.h). It moves bytes from one descriptor to another inside the kernel, through a pipe.
#include "net/io_call.h"
#include "net/open.h"
#include "os/socket.h"
#include <thrum/fd.h>

namespace thrum {

using namespace rt;

namespace {

constexpr std::size_t pipe_bytes = 64UL * 1024;  // the kernel's default capacity of a pipe

struct kernel_pipe {
  int ends[2]{-1, -1};
  int const failed = os::open_pipe(ends);

  kernel_pipe() noexcept = default;
  kernel_pipe(kernel_pipe const&) = delete;
  kernel_pipe& operator=(kernel_pipe const&) = delete;
  ~kernel_pipe() {
    if (failed != 0) return;
    os::close(ends[0]);
    os::close(ends[1]);
  }
};

}  // namespace

std::uint64_t splice_all(fd& from, fd& to, std::error_code& error) {
  io_call in(from.desc_, poll_side_name::read, error);
  if (!in) return 0;
  io_call out(to.desc_, poll_side_name::write, error);
  if (!out) return 0;
  kernel_pipe between;
  if (between.failed != 0) {
    error = system_error_of(-between.failed);
    return 0;
  }
  std::uint64_t moved = 0;
  for (;;) {
    long const came = in.perform(0, error, [&](int source) { return os::splice(source, between.ends[1], pipe_bytes); });
    if (came <= 0) return moved;
    for (long left = came; left > 0;) {
      long const went = out.perform(
          0, error, [&](int sink) { return os::splice(between.ends[0], sink, static_cast<std::size_t>(left)); });
      if (went < 0) return moved;
      left -= went;
      moved += static_cast<std::uint64_t>(went);
    }
  }
}

std::uint64_t splice_all(fd& from, fd& to) {
  return detail::or_throw(detail::call_on{from, "splice_all"},
                          [&](std::error_code& e) { return splice_all(from, to, e); });
}

}  // namespace thrum
