#include "scenes/director.h"

#include "scenes/sources.h"

#include <string>
#include <utility>

namespace thrum::scenes {

void director::begin_part(std::string_view id, words title, words story, words first_step) {
  recording_.parts.push_back({std::string(id), std::move(title), std::move(story), {}});
  static_cast<void>(on.take_events());
  last_ = camera_.take_picture();
  recording_.parts.back().steps.push_back({0, std::move(first_step), {}, {}, last_});
}

void director::step(words text, std::initializer_list<source_reference> sources) {
  scenes::step made;
  made.t = static_cast<int>(recording_.parts.back().steps.size());
  made.text = std::move(text);
  for (source_reference const& each : sources) {
    made.source.push_back(function_in("src/thrum/" + std::string(each.file), each.function));
  }
  made.state = camera_.take_picture();
  made.events = camera_.take_events(last_, made.state);
  last_ = made.state;
  recording_.parts.back().steps.push_back(std::move(made));
}

}  // namespace thrum::scenes
