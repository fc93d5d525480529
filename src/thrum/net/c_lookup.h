// Looks up host names with the C library's getaddrinfo, which reads its own configuration, caches and modules, and may
// take many seconds.
//
// getaddrinfo cannot be interrupted, and it keeps a thread. Therefore:
//  - At most lookups_max lookups run at a time in one run (fewer if options::max_threads is small). Further callers
//    wait for their turn, in the order in which they came.
//  - A caller with a time limit leaves the call to a new goroutine, and returns when its time is over. The late lookup
//    continues and keeps its turn until it ends. Its answer is dropped.
//
// A foreign thread without a time limit is not counted, because it blocks a thread of the program and not one of
// thrum's. If it has a time limit, it leaves the call to a new thread. At most lookups_max such threads exist in the
// process, and further callers wait for a place until their time is over. The caller does not wait for a goroutine,
// because it could not continue if the run ended while it waits inside the runtime.
#pragma once

#include <thrum/endpoint.h>

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace thrum::rt {

inline constexpr int lookups_max = 500;  // Go's value for lookups by the C library

// Waits until `until_ns` at most; with never_poll, until the C library gives up. Errors are those of resolve_category,
// timed_out, and system errors.
[[nodiscard]] std::vector<endpoint> look_up_by_c_library(std::string const& name, std::uint16_t port,
                                                         std::int64_t until_ns, std::error_code& error);

// The calling goroutine's turn, for lookups that are made elsewhere (src/posix/names.cpp). The constructor may park
// until the turn comes. If there is no memory to wait, the lookup goes on without a turn.
class [[nodiscard]] lookup_turn {
 public:
  lookup_turn() noexcept;
  ~lookup_turn();
  lookup_turn(lookup_turn const&) = delete;
  lookup_turn& operator=(lookup_turn const&) = delete;

 private:
  bool has_ = false;
};

}  // namespace thrum::rt
