// Errors that pass by themselves.
#include "os/fault.h"
#include "support/fatal.h"
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::os::call;
using rt::os::clear_faults;
using rt::os::inject_fault;

class transient_errors : public test::at_every_width {
 protected:
  void SetUp() override { clear_faults(); }
  void TearDown() override { clear_faults(); }
};

// accept(2): "Linux accept() passes already-pending network errors on the new socket as an error code".
TEST_P(transient_errors, of_one_client_do_not_end_accept) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    for (int const code : {ECONNABORTED, ECONNRESET, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH,
                           EOPNOTSUPP, ENETUNREACH, ETIMEDOUT, ENOSR, ESOCKTNOSUPPORT, EPROTONOSUPPORT, EPERM}) {
      auto const client = tcp_conn::dial(listener.local_endpoint());
      inject_fault(call::accept, code, 0, 3);
      std::error_code error;
      auto const server = listener.accept(error);
      EXPECT_FALSE(error) << "errno " << code << ": " << error.message();
      clear_faults();
      if (error) static_cast<void>(listener.accept(error));
    }
  });
}

TEST_P(transient_errors, that_never_pass_end_accept) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto const client = tcp_conn::dial(listener.local_endpoint());
    inject_fault(call::accept, EPERM, 0, rt::os::fault_for_good);
    std::error_code error;
    auto const server = listener.accept(error);
    EXPECT_EQ(error, std::errc::operation_not_permitted);
  });
}

// fs.epoll.max_user_watches.
TEST_P(transient_errors, a_poll_that_watches_no_more_makes_accept_wait_and_dial_fail_for_want_of_resources) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto const client = tcp_conn::dial(listener.local_endpoint());
    inject_fault(call::epoll_ctl, ENOSPC, 0, 1);
    std::error_code error;
    auto const other = tcp_conn::dial(listener.local_endpoint().to_string(), error);
    EXPECT_EQ(error, std::errc::no_buffer_space) << error.message();
    auto const third = tcp_conn::dial(listener.local_endpoint());
    inject_fault(call::epoll_ctl, ENOSPC, 0, 2);
    auto const server = listener.accept(error);
    EXPECT_FALSE(error) << error.message();
  });
}

THRUM_AT_WIDTHS(transient_errors, 1, 2);

class transient_errors_in_a_child : public test::fatal_test {};

TEST_F(transient_errors_in_a_child, a_poll_that_watches_no_more_says_what_to_do) {
  EXPECT_EXIT(
      {
        run([] {
          auto listener = tcp_listener::listen("127.0.0.1:0");
          inject_fault(call::epoll_ctl, ENOSPC, 0, 1);
          std::error_code error;
          static_cast<void>(tcp_conn::dial(listener.local_endpoint().to_string(), error));
        });
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "max_user_watches");
}

}  // namespace
}  // namespace thrum
