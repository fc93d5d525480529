// Takes pictures of the machine while the stage holds it still, and tells what has happened between two pictures.
#pragma once

#include "scenes/recording.h"
#include "scenes/stage.h"

#include <vector>

namespace thrum::scenes {

// The stories number Ps from 1, as the documents do whose scenes these are. The runtime numbers them from 0.
[[nodiscard]] constexpr int number_of_p(int id) noexcept { return id < 0 ? -1 : id + 1; }

class camera {
 public:
  explicit camera(stage& shown) noexcept : stage_(shown) {}

  // Called by the driver when no thread of the run moves.
  [[nodiscard]] machine take_picture();
  // What has happened since the picture before, in order. `now` is the picture that was taken last.
  [[nodiscard]] std::vector<event> take_events(machine const& before, machine const& now);

 private:
  stage& stage_;
  std::vector<g_state> known_{};  // the goroutines of the story so far; those that no thread and no queue has are dead
};

}  // namespace thrum::scenes
