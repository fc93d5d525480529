#include "debug/trace_modules.h"

#include "debug/loaded_modules.h"

#include <concepts>
#include <cstdint>
#include <span>

namespace thrum::rt::trace {
namespace {

using bytes = std::vector<std::byte>;

template <std::unsigned_integral T>
void append(bytes& to, T const& value) {
  auto const* const from = reinterpret_cast<std::byte const*>(&value);
  to.insert(to.end(), from, from + sizeof value);
}

void append(bytes& to, std::span<std::byte const> more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

std::vector<std::byte> contents_of_modules() {
  bytes made;
  for (loaded_module const& its : loaded_modules()) {
    append(made, std::uint64_t{its.low});
    append(made, std::uint64_t{its.high});
    append(made, std::uint64_t{its.bias});
    append(made, static_cast<std::uint32_t>(its.build_id.size()));
    append(made, static_cast<std::uint32_t>(its.path.size()));
    append(made, its.build_id);
    append(made, std::as_bytes(std::span(its.path)));
    made.resize((made.size() + 7) / 8 * 8);
  }
  return made;
}

}  // namespace thrum::rt::trace
