// Plays the scenes of docs/scenes.md on the real scheduler, with 4 Ps and run queues of 4, and records them.
#pragma once

#include "scenes/recording.h"

namespace thrum::scenes {

// Must not be called on a goroutine or while a run is alive. Throws stage_failure (scenes/stage.h) if a thread does not
// do within a minute what the story needs.
[[nodiscard]] recording play();

}  // namespace thrum::scenes
