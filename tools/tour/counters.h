// The counters of a P as a list, for whoever adds, subtracts or shows all of them.
#pragma once

#include <thrum/runtime.h>

#include <array>
#include <cstdint>

namespace tour {

struct counter {
  std::uint64_t thrum::proc_stats::* member;
  char const* title[2];  // the two lines above its column
};

inline constexpr std::array counters{
    counter{&thrum::proc_stats::created, {"", "made"}},
    counter{&thrum::proc_stats::ended, {"", "ended"}},
    counter{&thrum::proc_stats::stack_handovers, {"stack", "passed"}},
    counter{&thrum::proc_stats::joined_in_place, {"run by", "joiner"}},
    counter{&thrum::proc_stats::switches_direct, {"direct", "switch"}},
    counter{&thrum::proc_stats::switches_via_g0, {"via", "g0"}},
    counter{&thrum::proc_stats::steals, {"", "steals"}},
    counter{&thrum::proc_stats::stolen, {"got", "so"}},
    counter{&thrum::proc_stats::wakes, {"woke", "a P"}},
    counter{&thrum::proc_stats::overflows, {"queue", "full"}},
    counter{&thrum::proc_stats::global_takes, {"from", "global"}},
};

}  // namespace tour
