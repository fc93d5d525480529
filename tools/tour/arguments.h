// The command line of the tour.
#pragma once

#include <span>
#include <stdexcept>

namespace tour {

// A command line that says something the tour does not know.
class bad_arguments : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct arguments {
  int procs = 0;  // 0: thrum decides
  bool help = false;
};

arguments parse(std::span<char* const> given);

extern char const* const usage;

}  // namespace tour
