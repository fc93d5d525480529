// Makes random programs with few channels of small capacities and few goroutines, so that the goroutines meet often.
// One in forty operations is on a nil channel. Closes are so rare that something happens before them.
#pragma once

#include "base/random.h"
#include "channels/model/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace thrum::test::chan_model {

class generator {
 public:
  explicit generator(std::uint64_t seed) : random_(seed) {}

  program make() {
    program p;
    std::size_t const channels = 1 + random_.below(3);
    for (std::size_t i = 0; i < channels; ++i) {
      std::size_t const capacities[] = {0, 0, 0, 1, 1, 2, 3};
      p.capacities.push_back(capacities[random_.below(7)]);
    }
    channels_ = static_cast<std::uint32_t>(channels);
    std::size_t const goroutines = 2 + random_.below(4);
    for (std::size_t g = 0; g < goroutines; ++g) {
      auto& body = p.goroutines.emplace_back();
      std::size_t const length = 1 + random_.below(6);
      for (std::size_t i = 0; i < length; ++i) body.push_back(make_operation());
    }
    return p;
  }

 private:
  operation make_operation() {
    std::uint32_t const dice = random_.below(100);
    if (dice < 25) return {verb::send, {{true, make_channel()}}};
    if (dice < 50) return {verb::recv, {{false, make_channel()}}};
    if (dice < 56) return {verb::close, {{false, make_channel()}}};
    if (dice < 62) return {verb::try_send, {{true, make_channel()}}};
    if (dice < 68) return {verb::try_recv, {{false, make_channel()}}};
    if (dice < 75) return {};
    operation op{dice < 92 ? verb::select : verb::select_or_not, {}};
    std::size_t const cases = 1 + random_.below(4);
    for (std::size_t k = 0; k < cases; ++k) op.cases.push_back({random_.below(2) == 0, make_channel()});
    return op;
  }
  int make_channel() { return random_.below(40) == 0 ? nil : static_cast<int>(random_.below(channels_)); }

  rt::random_source random_;
  std::uint32_t channels_ = 0;
};

}  // namespace thrum::test::chan_model
