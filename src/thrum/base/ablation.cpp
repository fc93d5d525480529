#include "base/ablation.h"

#include "base/check.h"

#include <algorithm>
#include <array>

namespace thrum::rt {
namespace {

#define THRUM_TEXT(name, rows, without) std::string_view(#name),
constexpr std::array names{THRUM_HEURISTICS(THRUM_TEXT)};
#undef THRUM_TEXT
static_assert(names.size() <= 64, "heuristics_left_out has 64 bits");

#define THRUM_TEXT(name, rows, without) ", " #name
constexpr std::string_view after_commas = THRUM_HEURISTICS(THRUM_TEXT);
#undef THRUM_TEXT

}  // namespace

std::string_view heuristic_names() noexcept { return after_commas.substr(2); }

ablations parse_ablations(std::string_view list) noexcept {
  ablations result;
  while (!list.empty()) {
    std::size_t const comma = std::min(list.find(','), list.size());
    std::string_view const name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (name.empty()) continue;
    auto const* const found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return {0, name};
    result.left_out |= std::uint64_t{1} << static_cast<unsigned>(found - names.begin());
  }
  return result;
}

void leave_out([[maybe_unused]] char const* list) noexcept {
#if THRUM_ABLATION
  ablations const wanted = parse_ablations(list != nullptr ? list : "");
  if (!wanted.unknown.empty()) {
    fatal("THRUM_ABLATE: there is no heuristic %.*s; there are %s", static_cast<int>(wanted.unknown.size()),
          wanted.unknown.data(), heuristic_names().data());
  }
  heuristics_left_out.store(wanted.left_out, relaxed);  // no other thread of the run exists yet
#endif
}

}  // namespace thrum::rt
