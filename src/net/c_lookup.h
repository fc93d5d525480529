// Names by the C library's getaddrinfo, which reads its own configuration, caches and modules, and may take many seconds.
//
// It cannot be interrupted and keeps a thread. So
//  - at most lookups_max run at a time in one run (fewer where options::max_threads is small), and further callers wait for their turn in
//    the order in which they came;
//  - a caller with a time limit leaves the call to a goroutine of its own and returns when its time is over. The late lookup goes on, its
//    answer is dropped, and it keeps its turn until then.
//
// A thread from outside is not counted, because it keeps a thread of the program's anyway. With a time limit it leaves the call to a thread
// that is made for it, since it could not go on if the run ended meanwhile.
#pragma once

#include <thrum/endpoint.h>

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace thrum::rt {

inline constexpr int lookups_max = 500;  // Go's value for lookups by the C library

// Until `until_ns` at most (never_poll: as long as the C library has patience). Errors: resolve_category, timed_out, the system's.
[[nodiscard]] std::vector<endpoint> look_up_by_c_library(std::string const& name, std::uint16_t port,
                                                         std::int64_t until_ns, std::error_code& error);

// The caller's turn, on a goroutine, which may wait for it: for names that are looked up elsewhere (src/posix/names.cpp). If there is no
// memory to wait, it has none.
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
