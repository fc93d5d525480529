// What the scripts of the scenes are written with: parts and steps of the recording, and the stage.
#pragma once

#include "scenes/camera.h"
#include "scenes/recording.h"
#include "scenes/stage.h"

#include <initializer_list>
#include <string_view>

namespace thrum::scenes {

// A function of our source that does a step.
struct source_reference {
  std::string_view file;  // from src/thrum/
  std::string_view function;
};

class director {
 public:
  director(stage& shown, recording& made) noexcept : on(shown), camera_(shown), recording_(made) {}

  // Forgets what has happened so far, and begins a part with a picture of the machine as it stands.
  void begin_part(std::string_view id, words title, words story, words first_step);
  // Records what the machine has done since the step before.
  void step(words text, std::initializer_list<source_reference> sources);

  stage& on;

 private:
  camera camera_;
  recording& recording_;
  machine last_{};
};

}  // namespace thrum::scenes
