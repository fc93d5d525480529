// What the server is told when it starts, and the limits that keep one client from using it up.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace http {

struct settings {
  std::string bind = "127.0.0.1";
  std::uint16_t port = 8080;                  // 0: one that is free
  int procs = 0;                              // 0: as many as the machine has
  std::string root;                           // what /file/ serves; empty: nothing
  std::chrono::milliseconds idle{60'000};     // a connection without a request, or an answer that nobody reads
  std::chrono::milliseconds request{10'000};  // from a request's first byte to its last
  std::chrono::milliseconds grace{30'000};    // for requests in flight when the server is asked to stop
};

inline constexpr std::size_t head_bytes_max = 16 * 1024;     // else 431
inline constexpr std::size_t headers_max = 100;              // else 431
inline constexpr std::size_t body_bytes_max = 1024 * 1024;   // else 413
inline constexpr std::size_t answers_bytes_max = 64 * 1024;  // gathered before they are sent
// After a refusal so much is read and dropped, for so long: else the refusal could be lost.
inline constexpr std::size_t lingering_bytes_max = 256 * 1024;
inline constexpr std::chrono::milliseconds lingering_time_max{2'000};

}  // namespace http
