#include "support/leak_checks.h"

#include <atomic>

namespace {

std::atomic<bool> are_looked_for{true};

}  // namespace

void thrum::test::do_not_look_for_leaks() noexcept { are_looked_for = false; }

// Called by AddressSanitizer.
extern "C" int __lsan_is_turned_off() { return are_looked_for ? 0 : 1; }  // NOLINT(bugprone-reserved-identifier)
