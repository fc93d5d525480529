// The bytes between OpenSSL and the connection, and the BIO through which OpenSSL sees them.
//
// The BIO never waits: where there is no input it says "again", and output is kept until somebody sends it. So nothing parks inside
// OpenSSL, which has locks, per-thread errors and frames in which a goroutine must not change its thread. OpenSSL's own memory BIO
// would do the same with one more copy.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <openssl/bio.h>

namespace thrum::detail {

struct tls_wire {
  static constexpr std::size_t input_bytes_max = 32 * 1024;  // two of the largest records

  // What came and OpenSSL has not taken: [input_begin, input_end).
  std::unique_ptr<unsigned char[]> input = std::make_unique_for_overwrite<unsigned char[]>(input_bytes_max);
  std::size_t input_begin = 0;
  std::size_t input_end = 0;

  std::vector<unsigned char> output;  // to be sent
};

// Null: no memory. The wire must outlive it.
[[nodiscard]] BIO* new_wire_bio(tls_wire& wire) noexcept;

}  // namespace thrum::detail
