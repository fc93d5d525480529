// Who uses a descriptor: the end of the count.
#include "wait/poll_use.h"

#include "support/fatal.h"

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class poll_use_fatal : public test::fatal_test {};

TEST_F(poll_use_fatal, NE13_more_users_than_can_be_counted_end_the_program) {
  poll_desc d;
  own_poll_desc(d);
  d.use.fetch_add(0xffff'fffd, relaxed);  // with the owner, one less than there may be
  poll_use last;
  EXPECT_TRUE(last.begin(d));
  EXPECT_FATAL(
      {
        poll_use one_too_many;
        static_cast<void>(one_too_many.begin(d));
      },
      "too many goroutines use one descriptor");
}

}  // namespace
}  // namespace thrum::rt
