// T14 for channels and select: a goroutine whose operation is over may destroy the channel, and all other channels of
// the same select, at once.
//
// Every channel here has one handle. It is in the frame or on the heap of one side, and the other side only refers to
// it. Both sides leave as soon as their own operation is over. AddressSanitizer reports an access that comes too late.
#include "base/atomic.h"
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>
#include <thrum/wait_group.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

void pause(std::int64_t round) {
  for (std::int64_t i = round * 7 % 50; i > 0; --i) rt::cpu_relax();
}

// A channel whose memory the next channel reuses at once, so that a late store also shows without AddressSanitizer.
template <class T>
struct short_lived {
  explicit short_lived(std::size_t capacity) : handle(std::make_unique<chan<T>>(capacity)) {}
  chan<T>& operator*() const { return *handle; }
  std::unique_ptr<chan<T>> handle;
};

class channel_release : public testing::TestWithParam<int> {
 protected:
  // body(round) on several goroutines at once.
  template <class F>
  static void on_many(F body) {
    int const goroutines = 2 * GetParam();
    std::int64_t const rounds = scaled(50'000, 2000);
    run_at(GetParam(), [&] {
      wait_group ended;
      for (int g = 0; g < goroutines; ++g) {
        ended.go([&, g] {
          for (std::int64_t round = g; round < rounds; round += goroutines) {
            pause(round / 50);
            ASSERT_TRUE(body(round)) << "round " << round;
          }
        });
      }
      ended.wait();
    });
  }
};
THRUM_AT_WIDTHS(channel_release, 1, 2, 8);

TEST_P(channel_release, T14_by_the_receiver_of_its_last_element) {
  on_many([](std::int64_t round) {
    short_lived<std::int64_t> const c(static_cast<std::size_t>(round % 3));
    go([&, round] {
      pause(round);
      (*c).send(round);
    });
    return (*c).recv() == round;
  });
}

TEST_P(channel_release, T14_by_the_receiver_of_a_boxed_element) {
  on_many([](std::int64_t round) {
    short_lived<std::string> const c(static_cast<std::size_t>(round % 2));
    go([&, round] {
      pause(round);
      (*c).send("a string that is too long to be stored inside");
    });
    return (*c).recv().has_value();
  });
}

TEST_P(channel_release, T14_by_the_sender_whose_value_was_taken) {
  on_many([](std::int64_t round) {
    short_lived<std::int64_t> const c(0);
    go([&, round] {
      pause(round);
      if (round % 2 == 0) {
        (void)(*c).recv();
      } else {
        while (!(*c).try_recv()) yield();
      }
    });
    (*c).send(round);
    return true;
  });
}

TEST_P(channel_release, T14_by_the_goroutine_that_sees_it_closed) {
  on_many([](std::int64_t round) {
    short_lived<int> const c(static_cast<std::size_t>(round % 2));
    go([&, round] {
      pause(round);
      (*c).close();
    });
    return !(*c).recv().has_value();
  });
}

// The frame of a result and its cancellation. What the receiver owns is destroyed while the sender's select is leaving
// the other channels. There are many channels, and the receiver polls instead of waiting to be woken.
TEST_P(channel_release, T14_all_channels_of_a_select_by_the_receiver_of_its_choice) {
  on_many([](std::int64_t round) {
    short_lived<std::int64_t> const result(1);
    constexpr std::size_t many = 8;
    std::vector<short_lived<std::int64_t>> others;
    for (std::size_t i = 0; i < many; ++i) others.emplace_back(0);
    go([round, &r = *result, &a = *others[0], &b = *others[1], &c = *others[2], &d = *others[3], &e = *others[4],
        &f = *others[5], &g = *others[6], &h = *others[7]] {
      pause(round);
      select(on_recv(a), on_recv(b), on_recv(c), on_recv(d), on_send(r, round), on_recv(e), on_recv(f), on_recv(g),
             on_recv(h));
    });
    for (int i = 1;; ++i) {
      if (auto const got = (*result).try_recv()) return got.value == round;
      if (GetParam() == 1 || i % 1000 == 0) yield();  // else another P gets the one with the select
    }
  });
}

// The other way round: the select has been parked for long when a sender completes it, leaves and destroys all
// channels.
TEST_P(channel_release, T14_all_channels_of_a_waiting_select_by_the_goroutine_that_dealt_with_it) {
  on_many([](std::int64_t round) {
    wait_group received;
    received.add(1);
    std::int64_t got = -1;
    {
      short_lived<std::int64_t> const a(0);
      short_lived<std::int64_t> const b(0);
      short_lived<std::int64_t> const c(0);
      go([&, &pa = *a, &pb = *b, &pc = *c] {
        auto const note = [&](std::optional<std::int64_t> value) { got = value.value_or(-2); };
        select(on_recv(pa, note), on_recv(pb, note), on_send(pc, std::int64_t{7}), on_recv(pb, note));
        received.done();
      });
      pause(round);
      switch (round % 3) {
        case 0: (*a).send(round); break;
        case 1: (*b).send(round); break;
        default:
          if ((*c).recv() != 7) return false;
          got = round;
      }
    }
    received.wait();
    return got == round;
  });
}

TEST_P(channel_release, T14_two_selects_that_meet) {
  on_many([](std::int64_t round) {
    short_lived<std::int64_t> const a(static_cast<std::size_t>(round % 2));
    short_lived<std::int64_t> const b(0);
    go([&, round] {
      pause(round);
      select(on_send(*a, round), on_recv(*b));
    });
    std::optional<std::int64_t> got;
    select(on_recv(*b), on_recv(*a, [&](std::optional<std::int64_t> value) { got = value; }));
    return got == round;
  });
}

// The last handle of an otherwise forgotten channel may be the one that a select holds for its temporary.
TEST_P(channel_release, T14_a_temporary_channel_lives_as_long_as_its_case) {
  on_many([](std::int64_t round) {
    short_lived<std::int64_t> const c(1);
    (*c).send(round);
    std::optional<std::int64_t> got;
    select(on_recv(chan<std::string>(2)), on_recv(*c, [&](std::optional<std::int64_t> value) { got = value; }),
           on_recv(chan<int>::receiver(chan<int>(0))));
    return got == round;
  });
}

}  // namespace
}  // namespace thrum::test
