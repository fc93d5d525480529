// Where `thrum top` gets what it shows.
#pragma once

#include "command/target/connection.h"
#include "command/top/view.h"

#include <string>

namespace thrum::command {

class top_source {
 public:
  explicit top_source(std::string const& target);

  // The process, for the title.
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  // Asks the process for what it is doing now.
  void refresh(top_view& view);

 private:
  connection to_;
  std::string name_;
};

}  // namespace thrum::command
