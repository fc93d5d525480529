#include "core/current.h"
#include <thrum/group.h>

#include <stdexcept>

namespace thrum {
namespace {

// The number of unwindings of this goroutine that are under way. A goexit counts, although its destructors see no
// exception.
int unwindings() noexcept {
  rt::M const* const m = rt::current_m();
  bool const exits = m != nullptr && m->current != nullptr && m->current->is_exiting;
  return std::uncaught_exceptions() + (exits ? 1 : 0);
}

}  // namespace

group::group(thrum::context const& parent) : own_(with_cancel(parent)), unwindings_(unwindings()) {}

group::~group() {
  if (unwindings() > unwindings_) own_.cancel();
  members_.wait();
  own_.cancel();
}

void group::limit(std::size_t n) {
  if (n == 0)
    throw std::invalid_argument("thrum: group::limit(0): no member could start; the limit must be at least 1");
  places_ = n == unlimited ? places(nullptr) : places(n);
}

void group::wait() {
  members_.wait();
  // relaxed: members_.wait() orders it
  if (has_failed_.load(detail::relaxed)) std::rethrow_exception(error_);
}

void group::failed(std::exception_ptr error) noexcept {
  if (has_failed_.exchange(true, detail::relaxed)) return;  // relaxed: error_ is read after all members have ended
  error_ = error;
  own_.cancel(std::move(error));
}

}  // namespace thrum
