// Traces of a run: what every goroutine, thread and P did, and when.
//
//   thrum::trace::start("server.trace");
//   {
//     thrum::trace::region const parsing("parse");
//     thrum::trace::log("a message");
//   }
//   thrum::trace::stop();
//
// The environment variable THRUM_TRACE=FILE does the same for a whole run; %p in the name is the number of the process.
// `thrum trace FILE` shows what is in the file, and docs/trace-format.md describes it.
//
// Events go to memory without locks and without system calls, and a thread writes them to the file. If it cannot keep
// up, events are lost, and the file says how many. If the program is killed, the file is valid up to some milliseconds
// before.
//
// Thread safety: every function may be called from any goroutine or thread. A signal handler on a goroutine's thread
// may call `log` and is_on, and may use regions and tasks. What such a handler records while it has interrupted the
// scheduler is left out.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thrum::trace {

// Begins to write the events of this run to a file, which is replaced if it exists. Throws std::system_error if the
// file cannot be opened, or if another process writes a trace to it, and std::logic_error if no runtime is alive or a
// trace is being written already.
void start(std::string const& path);

// Ends the trace that is being written. Returns false if there is none. Throws std::system_error if the file is not
// complete, for example because the disk is full. The end of a run does the same, and prints the error.
bool stop();

// Whether events are being recorded.
[[nodiscard]] bool is_on() noexcept;

// The flight recorder keeps the latest events in memory. A snapshot writes them to a file when something remarkable has
// happened, which shows what led to it.
//
//   thrum::trace::start_recorder({.file_at_death = "crash.trace"});
//   if (took > 100ms) thrum::trace::snapshot("slow.trace");
struct recorder_options {
  // The memory for events. The first trace of a run decides: later ones use the same memory. At least 1 MiB, and 64 KiB
  // for each P.
  std::size_t bytes = std::size_t{16} << 20U;
  // A snapshot leaves older events out.
  std::chrono::nanoseconds age = std::chrono::seconds(10);
  // Written when the program ends with a report: a panic, a deadlock or another fatal error. Empty: none.
  std::string file_at_death = {};
};
// Throws std::logic_error if no runtime is alive, or if a trace is being written or recorded already, and
// std::system_error if the system refuses memory or a thread.
void start_recorder(recorder_options const& chosen = {});
// Returns false if the recorder is off. A snapshot that is being written goes on, with what was recorded before. Until
// it is written, no trace can be started.
bool stop_recorder();
// Writes what was recorded, and goes on recording. Stops the world for some ten microseconds. Throws std::system_error
// if the file cannot be written, and std::logic_error if the recorder is off or another snapshot is being written.
void snapshot(std::string const& path);
// The same for a condition that may hold often, or on several goroutines at once:
//
//   if (took > 100ms) thrum::trace::snapshot_at_times("slow.trace");
//
// Returns false, and does nothing, if the recorder is off, if a snapshot was begun less than `apart` ago, or if one is
// being written. That costs some ten nanoseconds. Throws std::system_error if the file cannot be written.
bool snapshot_at_times(std::string const& path, std::chrono::nanoseconds apart = std::chrono::minutes(1));

// A part of a goroutine's work, from the construction to the destruction. Regions of one goroutine nest. The name is
// cut to 2,000 bytes. Costs nothing to speak of while no trace is being written.
class [[nodiscard]] region {
 public:
  explicit region(std::string_view name) noexcept;
  ~region();
  region(region const&) = delete;
  region& operator=(region const&) = delete;

 private:
  bool is_recorded_;
};

// A piece of work that may be done by several goroutines, such as a request. Copies are the same task.
class task {
 public:
  explicit task(std::string_view name) noexcept;
  void end() noexcept;
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

 private:
  std::uint64_t id_;
};

// A message of the calling goroutine. The text is cut to 2,000 bytes.
void log(std::string_view message) noexcept;
void log(task const& about, std::string_view message) noexcept;

}  // namespace thrum::trace
