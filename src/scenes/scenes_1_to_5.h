// Scenes 1 to 5: one M creates goroutines until its P's run queue is full. The stage announces a spinning M that does
// not exist, so no other M is woken before scene 6.
#pragma once

#include "scenes/director.h"

namespace thrum::scenes {

// Each scene begins in the state in which the one before has ended.
void play_scene_1(director& d);
void play_scene_2(director& d);
void play_scene_3(director& d);
void play_scene_4(director& d);
void play_scene_5(director& d);

}  // namespace thrum::scenes
