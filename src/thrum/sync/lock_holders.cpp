#include "sync/lock_holders.h"

#include "stack/registry.h"
#include "sync/stamp.h"
#include <thrum/detail/holder.h>
#include <thrum/mutex.h>
#include <thrum/shared_mutex.h>

namespace thrum::rt {

lock_wait lock_holders::look(void const* key, std::uint32_t epoch) noexcept {
  constexpr std::uintptr_t kinds = 3;
  auto const kind = reinterpret_cast<std::uintptr_t>(key) & kinds;
  lock_wait result{static_cast<lock_wait_kind>(kind), static_cast<char const*>(key) - kind};
  switch (result.kind) {
    case lock_wait_kind::none: break;
    case lock_wait_kind::to_own: {
      auto const& of = *static_cast<mutex const*>(result.object);
      std::uint32_t const flags = mutex::flags_of(of.state_.load(relaxed), epoch);
      if ((flags & (mutex::locked | mutex::promised)) == mutex::locked) result.holder = of.holder_.stack_mark();
      break;
    }
    case lock_wait_kind::to_read:
    case lock_wait_kind::to_write: {
      auto const& of = *static_cast<shared_mutex const*>(result.object);
      word const promised = of.promised_.load(relaxed);
      bool const has_come = promised >> stamp_shift != epoch || (promised & shared_mutex::held) == 0;
      if ((of.state_.load(relaxed) & shared_mutex::held) != 0 && has_come) result.holder = of.holder_.stack_mark();
      break;
    }
  }
  return result;
}

// An address that the mark stands for lies on the goroutine's stack or in the guard below it, because guards are larger
// than the unit of marks.
std::uint64_t lock_holders::goroutine(void const* key, std::uint32_t epoch) noexcept {
  auto const mark = std::uintptr_t{look(key, epoch).holder};
  return mark == 0 ? 0 : goroutine_by_address(reinterpret_cast<char const*>(mark << detail::stack_mark_shift));
}

}  // namespace thrum::rt
