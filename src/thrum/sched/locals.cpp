#include "sched/locals.h"

#include "core/current.h"
#include <thrum/detail/local_value.h>

#include <stdexcept>

namespace thrum::rt {

void destroy_locals(G& g) noexcept {
  // A destructor may use other locals, and so make new values. So the loop goes on until none is left.
  while (auto* const value = static_cast<detail::local_value*>(g.locals)) {
    g.locals = value->next;
    value->destroy(value);
  }
}

namespace {

G& current_goroutine() {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign)
    throw std::logic_error("thrum::local can only be used on a goroutine: use it inside thrum::run");
  return *m->current;
}

}  // namespace
}  // namespace thrum::rt

namespace thrum::detail {

std::uint64_t new_local_key() noexcept {
  static constinit atomic<std::uint64_t> next{1};
  return next.fetch_add(1U, relaxed);  // relaxed: only uniqueness matters
}

local_value* find_local(std::uint64_t key) {
  auto* value = static_cast<local_value*>(rt::current_goroutine().locals);
  while (value != nullptr && value->key != key) value = value->next;
  return value;
}

void add_local(local_value* made) {
  rt::G& g = rt::current_goroutine();
  made->next = static_cast<local_value*>(g.locals);
  g.locals = made;
}

}  // namespace thrum::detail
