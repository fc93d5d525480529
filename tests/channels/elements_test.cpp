// Elements of every kind (CH-13), moved as seldom as can be (CH-11), and destroyed exactly once.
#include "base/atomic.h"
#include "support/channels.h"
#include "support/run_at.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>
#include <thrum/wait_group.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class elements : public at_every_width {};
THRUM_AT_EVERY_WIDTH(elements);

// Through the buffer, from hand to hand, and through a select on both sides; made by make(), looked at by is_good().
template <class T, class Make, class Look>
void send_every_way(Make make, Look is_good) {
  for (std::size_t const capacity : {0, 1, 3}) {
    chan<T> const c(capacity);
    for (int i = 0; i < 8; ++i) {
      wait_group sent;
      sent.go([=] {
        if (i % 2 == 0) {
          c.send(make(i));
        } else {
          select(on_recv(chan<int>(nullptr)), on_send(c, make(i)));
        }
      });
      if (i % 4 < 2) {
        auto got = c.recv();
        ASSERT_TRUE(got.has_value());
        EXPECT_TRUE(is_good(*got, i)) << i;
      } else {
        select(on_recv(c, [&](std::optional<T> const& got) {  // gcc 12 does not align what it passes by value
          ASSERT_TRUE(got.has_value());
          EXPECT_TRUE(is_good(*got, i)) << i;
        }));
      }
      sent.wait();
    }
    auto one = make(9);
    if (c.try_send(std::move(one))) {
      auto got = c.try_recv();
      ASSERT_TRUE(got);
      EXPECT_TRUE(is_good(*got.value, 9));
    } else {
      EXPECT_EQ(capacity, 0U);
      EXPECT_TRUE(is_good(one, 9)) << "a value that could not be sent is left as it was";
    }
  }
}

struct nothing {};

TEST_P(elements, CH13_empty_types) {
  run([] {
    send_every_way<nothing>([](int) { return nothing(); }, [](nothing const&, int) { return true; });
    chan<nothing> const c(1000);
    for (int i = 0; i < 1000; ++i) c.send({});
    EXPECT_FALSE(c.try_send({}));
    EXPECT_EQ(c.size(), 1000U);
  });
}

struct only_moved {  // a type of the test's own, so the channel moves it in a box
  explicit only_moved(int v) : value(std::make_unique<int>(v)) {}
  std::unique_ptr<int> value;
};

TEST_P(elements, CH13_types_that_can_only_be_moved) {
  run([] {
    send_every_way<std::unique_ptr<int>>([](int i) { return std::make_unique<int>(i); },
                                         [](auto const& p, int i) { return p != nullptr && *p == i; });
    send_every_way<only_moved>([](int i) { return only_moved(i); },
                               [](auto const& p, int i) { return p.value != nullptr && *p.value == i; });
  });
}

struct alignas(64) aligned_bytes {
  int value = 0;
};
struct alignas(64) aligned_object {
  explicit aligned_object(int v) : value(std::to_string(v)) {}
  std::string value;
};
struct alignas(4096) page {
  int value = 0;
};

bool is_aligned(void const* p, std::size_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; }

TEST_P(elements, CH13_over_aligned_types_stay_aligned) {
  run([] {
    send_every_way<aligned_bytes>([](int i) { return aligned_bytes{i}; },
                                  [](auto const& v, int i) { return is_aligned(&v, 64) && v.value == i; });
    send_every_way<aligned_object>(
        [](int i) { return aligned_object(i); },
        [](auto const& v, int i) { return is_aligned(&v, 64) && v.value == std::to_string(i); });
    send_every_way<page>([](int i) { return page{i}; },
                         [](auto const& v, int i) { return is_aligned(&v, 4096) && v.value == i; });
  });
}

struct large {
  explicit large(int v) { bytes.fill(static_cast<std::uint16_t>(v)); }
  [[nodiscard]] bool is_all(int v) const {
    for (std::uint16_t const each : bytes) {
      if (each != static_cast<std::uint16_t>(v)) return false;
    }
    return true;
  }
  std::array<std::uint16_t, 32 * 1024> bytes;  // 64 KiB
};

// In frames that keep several of them on a stack of 256 KiB: so each is made and looked at in a frame of its own.
[[gnu::noinline]] void send_large(chan<large> const& c, int v) { c.send(large(v)); }
[[gnu::noinline]] bool receive_large(chan<large> const& c, int v) { return c.recv()->is_all(v); }
[[gnu::noinline]] void select_send_large(chan<large> const& c, int v) { select(on_send(c, large(v))); }
[[gnu::noinline]] bool select_receive_large(chan<large> const& c, int v) {
  bool good = false;
  select(on_recv(c, [&](std::optional<large> const& got) { good = got->is_all(v); }));
  return good;
}

TEST_P(elements, CH13_elements_of_64_KiB_on_a_stack_of_256) {
  run([] {
    for (std::size_t const capacity : {0, 2}) {
      chan<large> const c(capacity);
      go([=] {
        for (int i = 0; i < 4; ++i) send_large(c, i);
        for (int i = 4; i < 8; ++i) select_send_large(c, i);
      });
      auto reader = spawn([=] {
        bool good = true;
        for (int i = 0; i < 8; ++i) good = good && (i % 2 == 0 ? receive_large(c, i) : select_receive_large(c, i));
        return good;
      });
      yield();  // it begins, on a stack of its own
      EXPECT_TRUE(reader.join());
    }
  });
}

// Its moves and copies throw when they are told to.
struct moody {
  explicit moody(int v) : value(v) {}
  moody(moody&& other) : value(other.value) { grumble(); }
  moody(moody const& other) : value(other.value) { grumble(); }
  moody& operator=(moody&&) = delete;
  ~moody() = default;
  static void grumble() {
    if (moods_left.fetch_sub(1, rt::relaxed) == 0) throw std::runtime_error("not now");
  }
  static rt::atomic<int> moods_left;  // so many go well
  int value;
};
rt::atomic<int> moody::moods_left{-1};

// Whichever move it is that throws, in whichever operation: the channel stays usable, and nothing else is lost.
TEST_P(elements, CH13_a_move_that_throws_leaves_the_channel_usable) {
  run([] {
    for (int good_moves = 0; good_moves < 6; ++good_moves) {
      chan<moody> const c(2);
      moody first(1);
      auto const with_mood = [&](auto operation) {
        moody::moods_left.store(good_moves, rt::relaxed);
        try {
          operation();
        } catch (std::runtime_error const&) {
        }
        moody::moods_left.store(-1, rt::relaxed);
      };
      with_mood([&] { c.send(first); });
      with_mood([&] { c.send(moody(1)); });
      with_mood([&] { select(on_send(c, moody(1)), otherwise()); });
      with_mood([&] { (void)c.try_send(first); });
      if (c.size() < c.capacity()) c.send(first);
      std::size_t const held = c.size();
      with_mood([&] { (void)c.recv(); });
      EXPECT_EQ(c.size(), held - 1) << "it was received, and lost with the exception";
      with_mood([&] { (void)c.try_recv(); });
      with_mood([&] { select(on_recv(c), otherwise()); });
      while (c.try_recv()) {
      }
      // From hand to hand: the receiver's move throws; the sender knows nothing of it.
      chan<moody> const hand_over;
      wait_group sent;
      sent.go([&] { hand_over.send(moody(2)); });
      ASSERT_TRUE(wait_until_senders(hand_over, 1));
      with_mood([&] { (void)hand_over.recv(); });
      sent.wait();
      sent.go([&] { hand_over.send(moody(3)); });
      auto const got = hand_over.recv();
      ASSERT_TRUE(got.has_value());
      EXPECT_EQ(got->value, 3);
      sent.wait();
    }
  });
}

// Counts itself, and how often it was moved on its way.
struct counted {
  counted() { alive.fetch_add(1, rt::relaxed); }
  counted(counted&& other) noexcept : moves(other.moves + 1) { alive.fetch_add(1, rt::relaxed); }
  counted& operator=(counted&& other) noexcept {
    moves = other.moves + 1;
    return *this;
  }
  ~counted() { alive.fetch_sub(1, rt::relaxed); }
  int moves = 0;
  static rt::atomic<int> alive;
};
rt::atomic<int> counted::alive{0};

TEST_P(elements, CH11_a_value_is_moved_at_most_twice) {
  run([] {
    for (std::size_t const capacity : {0, 1}) {
      chan<counted> const c(capacity);
      wait_group sent;
      sent.go([=] {
        c.send(counted());
        counted named;
        c.send(std::move(named));
      });
      EXPECT_LE(c.recv()->moves, 2);
      EXPECT_LE(c.recv()->moves, 2);
      sent.wait();
    }
    EXPECT_EQ(counted::alive.load(rt::relaxed), 0);
  });
}

TEST_P(elements, every_element_is_destroyed_once_whatever_becomes_of_it) {
  run([] {
    {
      chan<counted> const dropped(5);
      for (int i = 0; i < 3; ++i) dropped.send({});
      (void)dropped.recv();
      dropped.send({});  // the ring has turned
      dropped.send({});
      dropped.send({});
      EXPECT_EQ(counted::alive.load(rt::relaxed), 5);
    }
    EXPECT_EQ(counted::alive.load(rt::relaxed), 0) << "left in the buffer of a channel that died";
    {
      chan<counted> const c(1);
      c.send({});
      counted left;
      EXPECT_FALSE(c.try_send(std::move(left)));
      EXPECT_EQ(select(on_send(c, counted()), otherwise()), 1U);
      std::vector<select_case> cases;
      cases.emplace_back(on_send(c, counted()));
      cases.emplace_back(otherwise());
      EXPECT_EQ(select(cases), 1U);
      c.close();
      EXPECT_THROW(select(cases), channel_closed);
      EXPECT_THROW(c.send({}), channel_closed);
    }
    EXPECT_EQ(counted::alive.load(rt::relaxed), 0) << "refused, or not chosen";
    {
      chan<counted> const c;
      wait_group sender;
      sender.go([&] { EXPECT_THROW(c.send({}), channel_closed); });
      ASSERT_TRUE(wait_until_senders(c, 1));
      c.close();
      sender.wait();
    }
    EXPECT_EQ(counted::alive.load(rt::relaxed), 0) << "closed while it waited";
  });
}

}  // namespace
}  // namespace thrum::test
