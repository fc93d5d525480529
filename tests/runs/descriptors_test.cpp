// Descriptors that goroutines of a run were about to close, or used, when the run ended.
#include "core/current.h"
#include "core/poll_table.h"
#include "core/sched.h"
#include "os/lock.h"
#include "os/pause_signal.h"
#include "os/thread_state.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;

bool is_free(int number) { return ::fcntl(number, F_GETFD) == -1 && errno == EBADF; }

std::atomic<int> number{-1};
std::atomic<rt::M*> closer{nullptr};

bool sleeps_inside(rt::M const* m) {
  if (m == nullptr || !m->in_runtime.load(rt::relaxed)) return false;
  rt::os::thread_watch watch;
  return watch.look(m->tid).waits_for_a_lock();
}

// The goroutine waits for the lock of the deadline's timer while it closes the descriptor. The run ends meanwhile, so
// the signal that stops goroutines finds it there, and it is stopped when it leaves the runtime.
TEST(descriptors_at_the_end, NE13_a_goroutine_that_is_stopped_while_it_closes_one_gives_its_number_back) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  std::atomic<bool> is_held{false};
  std::thread holder;
  run_at(2, [&] {
    auto* const conn = new unix_conn(std::move(unix_conn::pair().first));  // never destroyed
    conn->set_read_deadline(1h);
    number = conn->native_handle();
    rt::Sched const& s = rt::current_m()->sched;
    holder = std::thread([&] {
      rt::poll_desc* const d =
          rt::find_poll_desc([](rt::poll_desc const& each, std::uint32_t) noexcept { return each.fd == number; }, 0);
      rt::os::lock& of_timer = d->side(rt::poll_side_name::read).timer.load(rt::acquire)->lock;
      of_timer.acquire();
      is_held = true;
      bool const is_over = test::wait_until([&] { return s.end.is_seen_in_order(); });
      EXPECT_TRUE(is_over);
      rt::os::send_pause_signal(closer.load()->tid);
      of_timer.release();
    });
    EXPECT_TRUE(test::spin_until([&] { return is_held.load(); }));
    go([conn] {
      closer = rt::current_m();
      conn->close();
      test::loop_for_ever();
    });
    EXPECT_TRUE(test::spin_until([] { return sleeps_inside(closer); }));
  });
  holder.join();
  EXPECT_TRUE(is_free(number));
}

// The reader is woken by close, and never runs, because main and a loop have the Ps until the run ends. The handle
// names the record for longer than the run lives.
TEST(descriptors_at_the_end, NE13_the_number_of_a_closed_one_is_free_although_its_user_never_came_back) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  test::without_slices const uninterrupted;
  unix_conn conn;
  unix_conn peer;
  int its_number = -1;
  run_at(2, [&] {
    std::tie(conn, peer) = unix_conn::pair();
    its_number = conn.native_handle();
    go([&] {
      std::array<char, 1> byte{};
      std::error_code error;
      conn.read_some(byte, error);
    });
    EXPECT_TRUE(test::spin_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
    static std::atomic<bool> loops{false};
    go([] {
      loops = true;
      test::loop_for_ever();
    });
    EXPECT_TRUE(test::spin_until([] { return loops.load(); }));
    conn.close();
  });
  EXPECT_TRUE(is_free(its_number));
}

}  // namespace
}  // namespace thrum
