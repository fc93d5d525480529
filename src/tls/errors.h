// OpenSSL's error queue as a std::error_code.
//
// The queue belongs to the thread, and a goroutine may run on another thread after every park. So the goroutine must
// not park between clearing the queue, the call of OpenSSL and reading the queue. session.h ensures that.
#pragma once

#include <system_error>

#include <openssl/types.h>

namespace thrum::detail {

// Returns the oldest error of this thread's queue, which is the cause of the others, and empties the queue. `ssl` is
// asked for the reason if the error is a failed verification of a certificate. It may be null.
[[nodiscard]] std::error_code take_openssl_error(SSL const* ssl) noexcept;

}  // namespace thrum::detail
