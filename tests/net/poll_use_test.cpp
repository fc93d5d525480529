// The count of the calls that use a descriptor, at its upper limit.
#include "wait/poll_use.h"

#include "support/fatal.h"
#include <thrum/run.h>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class poll_use_fatal : public test::fatal_test {};

void use_once_more(poll_desc& d) {
  poll_use one_too_many;
  static_cast<void>(one_too_many.begin(d));
}

TEST_F(poll_use_fatal, NE13_more_users_than_can_be_counted_end_the_program) {
  poll_desc d;
  own_poll_desc(d);
  d.use.fetch_add(use_words::outsiders_mask - use_words::one_outsider, relaxed);  // one less than there may be
  poll_use last;
  EXPECT_TRUE(last.begin(d));
  EXPECT_FATAL(use_once_more(d), "too many threads use one descriptor");
  last.end(d);
  EXPECT_FATAL(run([&] {
                 use_once_more(d);  // the first one in this run counts anew
                 d.use.fetch_or(use_words::users_mask, relaxed);
                 use_once_more(d);
               }),
               "too many goroutines use one descriptor");
}

}  // namespace
}  // namespace thrum::rt
