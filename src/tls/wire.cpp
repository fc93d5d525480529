#include "tls/wire.h"

#include <thrum/detail/atomic.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include <openssl/err.h>

namespace thrum::detail {
namespace {

tls_wire& wire_of(BIO* bio) noexcept { return *static_cast<tls_wire*>(BIO_get_data(bio)); }

int take_input(BIO* bio, char* to, int bytes) {
  BIO_clear_retry_flags(bio);
  tls_wire& wire = wire_of(bio);
  std::size_t const n = std::min(wire.input_end - wire.input_begin, static_cast<std::size_t>(std::max(bytes, 0)));
  if (n == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  std::memcpy(to, wire.input.get() + wire.input_begin, n);
  wire.input_begin += n;
  return static_cast<int>(n);
}

int add_output(BIO* bio, char const* from, int bytes) {
  BIO_clear_retry_flags(bio);
  std::vector<unsigned char>& output = wire_of(bio).output;
  try {
    output.insert(output.end(), from, from + bytes);
  } catch (std::exception const&) {  // no exception may pass through OpenSSL
    ERR_raise(ERR_LIB_BIO, ERR_R_MALLOC_FAILURE);
    return -1;
  }
  return bytes;
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* new_method() noexcept {
  BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "thrum");
  if (method == nullptr) return nullptr;
  BIO_meth_set_read(method, &take_input);
  BIO_meth_set_write(method, &add_output);
  BIO_meth_set_ctrl(method, &control);
  return method;
}

// The method is made by its first user and never freed, because a connection may live until the process ends. There is
// no lock, because a goroutine that is stopped here at the end of its run would hold it for good. So two users may both
// make a method, and the second one frees its own.
BIO_METHOD* method_of_wires() noexcept {
  static constinit atomic<BIO_METHOD*> made{nullptr};
  BIO_METHOD* found = made.load(acquire);  // pairs with the exchange below
  if (found != nullptr) return found;
  BIO_METHOD* const mine = new_method();
  if (mine == nullptr) return nullptr;
  // release pairs with the load above: the method is complete before it is visible. acquire, on failure, pairs with the
  // other user's release.
  if (made.compare_exchange(found, mine, acq_rel, acquire)) return mine;
  BIO_meth_free(mine);
  return found;
}

}  // namespace

BIO* new_wire_bio(tls_wire& wire) noexcept {
  BIO_METHOD* const method = method_of_wires();
  BIO* const bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, &wire);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace thrum::detail
