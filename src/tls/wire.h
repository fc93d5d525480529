// The bytes between OpenSSL and the connection, and the BIO through which OpenSSL sees them.
//
// The BIO never waits. If there is no input it asks OpenSSL to retry, and it keeps output until tls_link sends it. So
// no goroutine parks inside OpenSSL, which holds locks there, has an error queue per thread, and has frames in which a
// goroutine must not move to another thread. OpenSSL's own memory BIO would work too, but costs one more copy.
//
// It takes no lock. The session's lock protects the wire while OpenSSL uses it (session.h).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <openssl/bio.h>

namespace thrum::detail {

struct tls_wire {
  static constexpr std::size_t input_bytes_max = 32 * 1024;  // two of the largest records

  // [input_begin, input_end) are the bytes that have arrived and that OpenSSL has not taken.
  std::unique_ptr<unsigned char[]> input = std::make_unique_for_overwrite<unsigned char[]>(input_bytes_max);
  std::size_t input_begin = 0;
  std::size_t input_end = 0;

  std::vector<unsigned char> output;  // bytes to send, which OpenSSL has written
};

// Returns null if there is no memory. The wire must outlive the BIO.
[[nodiscard]] BIO* new_wire_bio(tls_wire& wire) noexcept;

}  // namespace thrum::detail
