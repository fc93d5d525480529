// The parts of the model test of channels: the checker tells right histories from wrong ones, the text of a program can
// be read back, and the shrinker makes programs smaller.
#include "channels/model/checker.h"
#include "channels/model/generator.h"
#include "channels/model/program.h"
#include "channels/model/shrinker.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test::chan_model {
namespace {

event sent(int chosen = 0) { return {outcome::sent, chosen, 0, 0, 0}; }
event received(int value, int chosen = 0) { return {outcome::received, chosen, value, 0, 0}; }
event closed(int chosen = 0) { return {outcome::closed, chosen, 0, 0, 0}; }
event would_block(int chosen = 0) { return {outcome::would_block, chosen, 0, 0, 0}; }
event threw() { return {outcome::threw, 0, 0, 0, 0}; }
event at(event e, std::uint64_t began, std::uint64_t ended) {
  e.began = began;
  e.ended = ended;
  return e;
}

bool explains(std::string const& text, history const& h) { return checker(program_of(text), h).is_explainable(); }

// Values: goroutine * 10,000 + operation * 100 + case.

TEST(chan_model_checker, hand_over) {
  EXPECT_TRUE(explains("0|s0|r0", {{sent()}, {received(0)}}));
  EXPECT_FALSE(explains("0|s0|r0", {{sent()}, {received(100)}})) << "another value than was sent";
  EXPECT_FALSE(explains("0|s0|r0", {{sent()}, {}})) << "the value is lost";
  EXPECT_FALSE(explains("0|s0|r0", {{}, {received(0)}})) << "it was received and its sender still waits";
  EXPECT_FALSE(explains("0|s0|r0", {{}, {}})) << "they wait for each other";
  EXPECT_FALSE(explains("0|s0|r0|r0", {{sent()}, {received(0)}, {received(0)}})) << "received twice";
  EXPECT_TRUE(explains("0|s0|r0|r0", {{sent()}, {}, {received(0)}}));
}

TEST(chan_model_checker, order) {
  EXPECT_TRUE(explains("2|s0 s0|r0 r0", {{sent(), sent()}, {received(0), received(100)}}));
  EXPECT_FALSE(explains("2|s0 s0|r0 r0", {{sent(), sent()}, {received(100), received(0)}})) << "overtaken";
  EXPECT_TRUE(explains("0|s0|s0|r0 r0", {{sent()}, {sent()}, {received(10'000), received(0)}})) << "either came first";
  EXPECT_FALSE(explains("0|s0 s0|r0 r0", {{sent(), sent()}, {received(0)}}));
}

TEST(chan_model_checker, capacity) {
  EXPECT_TRUE(explains("1|s0 s0", {{sent()}}));
  EXPECT_FALSE(explains("1|s0 s0", {{sent(), sent()}})) << "more than there is room for";
  EXPECT_FALSE(explains("1|s0", {{}})) << "waits although there is room";
  EXPECT_TRUE(explains("1|t0 t0", {{sent(), would_block()}}));
  EXPECT_FALSE(explains("1|t0 t0", {{sent(), sent()}}));
  EXPECT_FALSE(explains("1|t0", {{would_block()}}));
  EXPECT_TRUE(explains("1|u0 t0 u0", {{would_block(), sent(), received(100)}}));
}

TEST(chan_model_checker, closing) {
  EXPECT_TRUE(explains("1|s0 c0 r0 r0", {{sent(), closed(), received(0), closed()}}));
  EXPECT_FALSE(explains("1|s0 c0 r0 r0", {{sent(), closed(), closed(), received(0)}}));
  EXPECT_FALSE(explains("1|s0 c0 r0", {{sent(), closed()}})) << "waits on a closed channel";
  EXPECT_TRUE(explains("0|s0|c0", {{threw()}, {closed()}}));
  EXPECT_FALSE(explains("0|s0|c0", {{}, {closed()}}));
  EXPECT_TRUE(explains("0|c0|c0", {{threw()}, {closed()}}));
  EXPECT_FALSE(explains("0|c0|c0", {{closed()}, {closed()}}));
  EXPECT_TRUE(explains("0|cn", {{threw()}}));
  EXPECT_TRUE(explains("0|u0|c0", {{closed()}, {closed()}}));
  EXPECT_TRUE(explains("0|u0|c0", {{would_block()}, {closed()}}));
}

TEST(chan_model_checker, nil) {
  EXPECT_TRUE(explains("0|sn|rn|tn un|[rn sn]|{rn}", {{}, {}, {would_block(), would_block()}, {}, {would_block(1)}}));
  EXPECT_FALSE(explains("0|sn|rn", {{sent()}, {received(0)}}));
}

TEST(chan_model_checker, selects) {
  EXPECT_TRUE(explains("0,0|[r0 s1]|r1", {{sent(1)}, {received(1)}}));
  EXPECT_FALSE(explains("0,0|[r0 s1]|r1", {{}, {}})) << "the partner waits";
  EXPECT_FALSE(explains("0,0|[r0 s1]|r1|s0", {{sent(1)}, {received(1)}, {sent()}})) << "both cases served";
  EXPECT_TRUE(explains("0,0|[r0 s1]|r1|s0", {{received(20'000, 0)}, {}, {sent()}}));
  EXPECT_TRUE(explains("0|[s0 r0]", {{}})) << "it does not meet itself";
  EXPECT_FALSE(explains("0|[s0 r0]", {{sent(0)}}));
  EXPECT_TRUE(explains("0|[s0 r0]|[s0 r0]", {{sent(0)}, {received(0, 1)}}));
  EXPECT_FALSE(explains("0|[s0 r0]|[s0 r0]", {{}, {}}));
  EXPECT_TRUE(explains("1|{s0} {s0}", {{sent(0), would_block(1)}}));
  EXPECT_FALSE(explains("1|{s0}", {{would_block(1)}})) << "otherwise although a case is ready";
  EXPECT_TRUE(explains("0,0|[s0 s1]|c1", {{threw()}, {closed()}}));
  EXPECT_TRUE(explains("0|[r0 r0]|c0", {{closed(1)}, {closed()}}));
}

// The waiting are served in the order in which they came: with three of them two orders are possible, but not for one
// goroutine that came before it sent the second time.
TEST(chan_model_checker, first_come_first_served) {
  EXPECT_FALSE(
      explains("0,9|s0 s0|s0|r0 r0 r0", {{sent(), sent()}, {sent()}, {received(100), received(0), received(10'000)}}));
  EXPECT_TRUE(
      explains("0,9|s0 s0|s0|r0 r0 r0", {{sent(), sent()}, {sent()}, {received(0), received(100), received(10'000)}}));
}

TEST(chan_model_checker, tickets) {
  history h{{at(sent(), 1, 2)}, {at(would_block(), 3, 4)}};
  EXPECT_FALSE(explains("1|s0|u0", h)) << "it was there before it was looked for";
  h[1][0] = at(would_block(), 1, 4);
  EXPECT_TRUE(explains("1|s0|u0", h)) << "they overlap";
  h[1][0] = would_block();
  EXPECT_TRUE(explains("1|s0|u0", h)) << "it is not known";
}

TEST(chan_model_program, the_text_can_be_read_back) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    program const p = generator(seed).make();
    EXPECT_EQ(program_of(text_of(p)), p) << text_of(p);
  }
  EXPECT_EQ(text_of(program_of("0,2|s0 r1 y|[r0 s1] c0|{rn s1} t0 u1")), "0,2|s0 r1 y|[r0 s1] c0|{rn s1} t0 u1");
  EXPECT_EQ(text_of(program_of("1||s0")), "1||s0") << "a goroutine may be empty";
  for (char const* const wrong : {"0|s1", "0|x0", "0|[s0", "0|s0 }", "0|[c0]", "0 s0"}) {
    EXPECT_THROW((void)program_of(wrong), std::invalid_argument) << wrong;
  }
}

TEST(chan_model_shrinker, keeps_only_what_is_needed_to_fail) {
  // A program fails if a goroutine sends to channel 0, by any operation, and a goroutine closes it.
  auto const fails = [](program const& p) {
    bool sends = false;
    bool closes = false;
    for (auto const& body : p.goroutines) {
      for (operation const& op : body) {
        for (choice const& one : op.cases) {
          sends = sends || (one.sends && one.on == 0);
          closes = closes || (op.what == verb::close && one.on == 0);
        }
      }
    }
    return sends && closes;
  };
  int shrunk_ones = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    program const p = generator(seed).make();
    if (!fails(p)) continue;
    ++shrunk_ones;
    program const smallest = shrunk(p, fails);
    EXPECT_TRUE(fails(smallest));
    std::size_t operations = 0;
    for (auto const& body : smallest.goroutines) {
      operations += body.size();
      for (operation const& op : body) EXPECT_EQ(op.cases.size(), 1U) << text_of(smallest);
    }
    EXPECT_EQ(operations, 2U) << text_of(smallest);
    for (std::size_t const capacity : smallest.capacities) EXPECT_EQ(capacity, 0U);
  }
  EXPECT_GT(shrunk_ones, 10);
}

}  // namespace
}  // namespace thrum::test::chan_model
