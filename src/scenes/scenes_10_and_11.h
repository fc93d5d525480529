// Scenes 10 and 11: system calls that are declared long, and short ones.
#pragma once

#include "scenes/director.h"

namespace thrum::scenes {

// Each scene begins in the state in which the one before has ended.
void play_scene_10(director& d);
void play_scene_11(director& d);

}  // namespace thrum::scenes
