// The acts of the tour. Each plays one use of goroutines, checks its result, and says what is to be seen.
//
// Public API only: any act may be copied into a program of your own.
#pragma once

#include "screen.h"

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace tour {

// An act did not come to the result it must come to.
class wrong_result : public std::runtime_error {
 public:
  wrong_result(std::string const& what, std::uint64_t is, std::uint64_t must_be);
};

// Measures the memory of a crowd of goroutines before they first run, and when all of them wait. Calls thrum::run
// itself with one P, so that the goroutines run when main waits. On a busy machine main's slice may end earlier, so the
// goroutines are created in ten parts, and the first part of which none had run is measured. This act must be played
// first, on memory that no goroutine has used.
struct crowd_memory {
  std::uint64_t goroutines;
  std::optional<std::uint64_t> created_bytes_each;  // nullopt: some goroutines of every part had run
  std::uint64_t parked_bytes;                       // of all together
};
crowd_memory measure_crowd();

struct finding {
  std::uint64_t done;  // how many of what the act does
  char const* what;    // their name, plural
  char const* one;     // and singular
  std::uint64_t took_ns;
  std::string to_be_seen;  // one sentence
};

// Inside thrum::run.
finding million(screen& to);
finding fork_join(screen& to);
finding ring(screen& to);
finding yields(screen& to);
finding shared_counter(screen& to);

struct act {
  char const* title;
  finding (*play)(screen&);
};

inline constexpr std::array acts{
    act{"A million goroutines, in waves", million},
    act{"Fork and join: fib(27), each call a goroutine", fork_join},
    act{"A ring of 1,000 goroutines passes a token", ring},
    act{"1,000 goroutines take turns", yields},
    act{"1,000 goroutines share one counter and a mutex", shared_counter},
};

}  // namespace tour
