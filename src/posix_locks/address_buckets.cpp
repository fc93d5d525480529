#include "posix_locks/address_buckets.h"

namespace thrum::posix {

constinit std::array<address_bucket, 2 * buckets_of_each> address_buckets{};

constinit rt::atomic<bool> buckets_are_used{false};

}  // namespace thrum::posix
