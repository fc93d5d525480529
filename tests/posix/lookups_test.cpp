// Names by the C library's own calls: they share the limit of thrum's lookups.
#include "net/c_lookup.h"
#include "support/goroutines.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <optional>

#include <gtest/gtest.h>
#include <netdb.h>

namespace thrum {
namespace {

TEST(lookups, wait_for_their_turn_when_all_places_are_taken) {
  run([] {
    int const before = set_max_threads(4);  // a quarter of them may look names up
    std::optional<rt::lookup_turn> taken(std::in_place);
    std::atomic<bool> is_back{false};
    auto asks = spawn([&] {
      addrinfo* found = nullptr;
      int const result = ::getaddrinfo("localhost", nullptr, nullptr, &found);
      is_back = true;
      if (result == 0) ::freeaddrinfo(found);
    });
    EXPECT_TRUE(test::wait_until([&] { return is_back || test::waiting_for(rt::wait_reason::chan_receive) == 1; }));
    EXPECT_FALSE(is_back) << "it has a thread that the limit does not count";
    set_max_threads(before);
    taken.reset();
    asks.join();
    EXPECT_TRUE(is_back);
  });
}

}  // namespace
}  // namespace thrum
