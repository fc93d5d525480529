// OpenSSL's error queue as a std::error_code.
//
// The queue belongs to the thread, and a goroutine may have another one after every park. So between a call of OpenSSL and the
// look at its queue nothing may park, nor between clearing the queue and the call. session.h keeps to that.
#pragma once

#include <system_error>

#include <openssl/types.h>

namespace thrum::detail {

// The oldest error of this thread's queue, which is the cause of the others; the queue is empty afterwards. `ssl`: whose
// verification may have failed; may be null.
[[nodiscard]] std::error_code take_openssl_error(SSL const* ssl) noexcept;

}  // namespace thrum::detail
