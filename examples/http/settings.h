// The server's settings, and the limits that keep one client from using up its resources.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace http {

struct settings {
  std::string bind = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any free port
  int procs = 0;              // 0: the default of options::max_procs
  std::string root;           // the directory that /file/ serves; empty: none
  // For a connection without a request, and for an answer that the client does not read.
  std::chrono::milliseconds idle{60'000};
  std::chrono::milliseconds request{10'000};  // from the first byte of a request to the last
  std::chrono::milliseconds grace{30'000};    // for requests under way when the server is asked to stop
};

inline constexpr std::size_t head_bytes_max = 16 * 1024;     // more than this is answered with 431
inline constexpr std::size_t headers_max = 100;              // more than this is answered with 431
inline constexpr std::size_t body_bytes_max = 1024 * 1024;   // more than this is answered with 413
inline constexpr std::size_t answers_bytes_max = 64 * 1024;  // bytes of answers that are collected before they are sent
// After a refusal the server reads and drops at most this many bytes, for at most this long. Otherwise the client could
// lose the refusal.
inline constexpr std::size_t lingering_bytes_max = 256 * 1024;
inline constexpr std::chrono::milliseconds lingering_time_max{2'000};

}  // namespace http
