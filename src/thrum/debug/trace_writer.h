// Writes the events of a run to a file while the run goes on.
//
// start() opens the file and makes a thread, which writes the events. stop() lets the thread write the rest, and waits
// for its end. Both may be called by any thread. They never wait for each other: of two calls at the same time one
// fails (trace_turn.h). Both block the thread and allocate.
#pragma once

#include "base/atomic.h"
#include "core/sched.h"
#include "debug/trace_output.h"
#include "debug/trace_turn.h"
#include "os/note.h"
#include "os/thread.h"

#include <cstdint>
#include <string>
#include <vector>

namespace thrum::rt::trace {

class writer {
 public:
  explicit writer(Sched& s) noexcept : sched_(s), turn_(s.trace) {}
  ~writer();
  writer(writer const&) = delete;
  writer& operator=(writer const&) = delete;

  enum class start_outcome : std::uint8_t { done, already_tracing, failed };
  struct start_result {
    start_outcome outcome;
    int error = 0;             // failed: the errno
    char const* call = "";     // failed: what could not be done
    std::uint32_t number = 0;  // done: for stop_trace
  };
  [[nodiscard]] start_result start(std::string const& path);

  struct stop_result {
    bool was_tracing = false;
    int error = 0;  // the first errno of a write; the file ends before it
    std::string path;
  };
  [[nodiscard]] stop_result stop();
  // The same if the trace with this number is on. A trace that begins during the call may be taken for it.
  [[nodiscard]] stop_result stop_trace(std::uint32_t number);

  // Waits until what has happened so far is in the file, but not for longer than `patience_ns`. For a program that is
  // about to end without stop(). Takes no lock and allocates nothing.
  void flush(std::int64_t patience_ns) const noexcept;
  // If another thread is in stop(), waits until the file is complete, but not for longer than `patience_ns`.
  void wait_for_end_of_file(std::int64_t patience_ns) const noexcept;

  // Whether start() or stop() is under way.
  [[nodiscard]] bool is_changing() const noexcept { return turn_.is_changing(); }

 private:
  // What the writer knows of a chunk that it has written in part.
  struct progress {
    std::uint32_t number = 0;  // the chunk's
    bool begun = false;
    std::size_t words = 0;
    std::uint64_t base_ticks = 0;
  };
  struct place {
    std::uint16_t stream;
    std::uint32_t number;
    std::size_t index;
  };

  [[nodiscard]] start_result begin(std::string const& path);
  static void* thread_main(void* self);
  void write_until_stopped();
  void write_what_is_there();
  void write_chunk(place const& its);

  Sched& sched_;
  trace_turn turn_;
  os::thread thread_{};
  int tid_ = 0;
  os::note asked_to_end_;
  atomic<std::uint32_t> rounds_{0};     // how often the thread has written what was there
  atomic<bool> file_is_closed_{false};  // by the thread

  // of the trace that is being written
  std::string path_;
  output output_;
  int error_ = 0;  // the first errno of a write
  std::uint32_t trace_ = 0;
  atomic<std::uint32_t> number_{0};        // trace_, for other threads
  std::vector<progress> progress_;         // by the index of the chunk
  std::vector<std::uint32_t> next_chunk_;  // by the stream
  std::vector<std::uint32_t> next_block_;  // by the stream
  std::vector<place> found_;               // reused by each round
};

}  // namespace thrum::rt::trace
