// Scenes 6 to 9: other Ms are woken, and take work from the global queue and from P1.
#pragma once

#include "scenes/director.h"

namespace thrum::scenes {

// Each scene begins in the state in which the one before has ended.
void play_scene_6(director& d);
void play_scene_7(director& d);
void play_scene_8(director& d);
void play_scene_9(director& d);

}  // namespace thrum::scenes
