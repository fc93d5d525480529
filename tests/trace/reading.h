// Reads a trace that a test has built.
#pragma once

#include "command/trace/trace.h"
#include "trace/trace_builder.h"

#include <string>
#include <string_view>

namespace thrum::test {

inline command::trace read(std::string_view bytes) { return command::analyse(command::read_trace(bytes)); }
inline command::trace read(trace_builder const& from) { return read(from.bytes()); }

// What is wrong with the trace, one violation per line.
inline std::string violations_of(command::trace const& of) {
  std::string all;
  for (std::string const& each : of.violations().kept()) all += each + "\n";
  return all;
}
inline std::string violations_of(trace_builder const& from) { return violations_of(read(from)); }

inline std::string notes_of(command::trace const& of) {
  std::string all;
  for (std::string const& each : of.notes()) all += each + "\n";
  return all;
}

inline std::string why_unreadable(std::string_view bytes) {
  try {
    read(bytes);
    return "it was read";
  } catch (command::unreadable_file const& failure) {
    return failure.what();
  }
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace thrum::test
