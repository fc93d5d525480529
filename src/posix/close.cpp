// close, dup2, dup3, close_range, closefrom: the calls after which a descriptor number does not stand for the file that
// other calls wait for. They tell those calls (watch.h). They do not park, and make the plain call on the caller's
// thread.
#include "posix/interpose.h"
#include "posix/plain.h"
#include "posix/watch.h"

#include <limits>

#include <unistd.h>

using namespace thrum::posix;

namespace {

int as_number(unsigned fd) noexcept {
  constexpr unsigned max = std::numeric_limits<int>::max();
  return static_cast<int>(fd < max ? fd : max);
}

}  // namespace

THRUM_POSIX_FILE(close);

THRUM_POSIX_CALL int close(int fd) {
  say_closed(fd, fd, every_ticket);  // before the close, because afterwards the number may belong to another file
  int const r = plain::close(fd);
  say_closed(fd, fd, no_ticket);
  return r;
}

THRUM_POSIX_CALL int dup2(int from, int to) noexcept {
  ticket const before = newest_at(to);
  int const r = plain::dup2(from, to);
  if (r >= 0 && from != to) say_closed(to, to, before);
  return r;
}

THRUM_POSIX_CALL int dup3(int from, int to, int flags) noexcept {
  ticket const before = newest_at(to);
  int const r = plain::dup3(from, to, flags);
  if (r >= 0) say_closed(to, to, before);
  return r;
}

THRUM_POSIX_CALL int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr int only_marks = 4;      // CLOSE_RANGE_CLOEXEC
  constexpr int of_this_thread = 2;  // CLOSE_RANGE_UNSHARE: closes in a table of the thread's own
  if (first > last || (flags & (only_marks | of_this_thread)) != 0) return plain::close_range(first, last, flags);
  say_closed(as_number(first), as_number(last), every_ticket);
  int const r = plain::close_range(first, last, flags);
  say_closed(as_number(first), as_number(last), no_ticket);
  return r;
}

THRUM_POSIX_CALL void closefrom(int first) noexcept {
  constexpr int last = std::numeric_limits<int>::max();
  say_closed(first > 0 ? first : 0, last, every_ticket);
  plain::closefrom(first);
  say_closed(first > 0 ? first : 0, last, no_ticket);
}

THRUM_POSIX_CALL int __close(int fd) { return close(fd); }
THRUM_POSIX_CALL int __dup2(int from, int to) noexcept { return dup2(from, to); }
