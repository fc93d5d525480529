// The traces that the environment asks for: THRUM_TRACE=FILE for the whole run, with THRUM_TRACE_SIGNAL=USR2 from one
// signal to the next. Also what is left to do when a run or the program ends.
#pragma once

#include "boot/trace_signal.h"
#include "debug/trace_recorder.h"
#include "debug/trace_writer.h"

#include <optional>
#include <string>

namespace thrum::rt {

class trace_of_run {
 public:
  explicit trace_of_run(Sched& s);
  ~trace_of_run();
  trace_of_run(trace_of_run const&) = delete;
  trace_of_run& operator=(trace_of_run const&) = delete;

  // Begins a trace if the environment asks for it. Throws std::system_error if the file cannot be written. The second
  // run of a process writes FILE.2, and so on. If another process writes that file, the number of this process is added
  // to the name. With a signal, the trace begins when that comes.
  void start_if_asked();
  // Ends the trace, if there is one, and prints what has gone wrong. Returns false if a goroutine was stopped in the
  // middle of starting or stopping one. If it was stopping one, the file is completed nevertheless. The writer and the
  // recorder are left behind with the run.
  [[nodiscard]] bool end() noexcept;
  // Leaves everything as it is, because the writer's thread is not in this process, or the program ends by exit().
  void abandon() noexcept;

 private:
  // Starts a trace in the next file. Returns the path, too.
  [[nodiscard]] trace::writer::start_result start_next(char const* pattern, std::string& path);
  void begin_or_end() noexcept;

  Sched& sched_;
  trace::writer* writer_;
  trace::recorder* recorder_;
  std::string pattern_;  // of the files that the signal asks for
  std::optional<trace_signal> signal_;
};

// For a program that ends with a report. May be called anywhere, also in a signal handler.
void flush_traces_before_death() noexcept;

// Throws what a failed start says.
[[noreturn]] void throw_start_error(char const* caller, std::string const& path,
                                    trace::writer::start_result const& why);

}  // namespace thrum::rt
