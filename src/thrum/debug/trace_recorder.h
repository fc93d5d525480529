// The flight recorder: the latest events of a run, in memory of a fixed size, until a snapshot writes them to a file.
//
// start(), stop() and a snapshot may be called by any thread. They never wait for each other: of two starts, stops or
// snapshots at the same time one fails. A stop during a snapshot ends the recording, and the snapshot goes on with what
// has been recorded. All block the thread and allocate.
#pragma once

#include "base/atomic.h"
#include "core/sched.h"
#include "debug/trace_notes.h"
#include "debug/trace_turn.h"
#include "os/note.h"
#include "os/thread.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace thrum::rt::trace {

class recorder {
 public:
  explicit recorder(Sched& s) noexcept : sched_(s), turn_(s.trace) {}
  ~recorder();
  recorder(recorder const&) = delete;
  recorder& operator=(recorder const&) = delete;

  struct settings {
    std::size_t bytes;          // of events; the first trace of a run decides
    std::int64_t age_ns;        // older events are left out of snapshots
    std::string file_at_death;  // written when the program ends with a report; empty: none
  };
  enum class outcome : std::uint8_t { done, in_use, off, failed };
  struct result {
    outcome how;
    int error = 0;          // failed: the errno
    char const* call = "";  // failed: what could not be done
  };
  [[nodiscard]] result start(settings const& chosen);
  [[nodiscard]] bool stop();
  [[nodiscard]] bool is_changing() const noexcept {
    return turn_.is_changing() || snapshot_.load(acquire) != snapshot::none;
  }

  // Whether no snapshot was begun in the last `apart_ns`, so that the caller is to begin one. If several threads ask,
  // one is told so.
  [[nodiscard]] bool is_due(std::int64_t apart_ns) noexcept;

  // A snapshot has three steps. The second one is made with the world stopped, so that the snapshot has the same moment
  // as its end in all streams. It allocates nothing. Then the world goes on, and the third one writes the file. The
  // caller of the first step also makes the third one.
  [[nodiscard]] result begin_snapshot();
  void note_chunks() noexcept;
  [[nodiscard]] result finish_snapshot(std::string const& path);
  // Instead of the third step.
  void give_snapshot_up() noexcept;

  // For a program that is about to end: writes settings::file_at_death, but does not wait for longer than
  // `patience_ns`. Takes no lock and allocates nothing.
  void write_at_death(std::int64_t patience_ns) noexcept;

 private:
  enum class snapshot : std::uint8_t {
    none,
    is_made,
    is_made_as_last,  // the recorder was stopped meanwhile, and its turn is over when the snapshot is finished
  };
  enum class order : std::uint32_t { none, write, end };

  static void* thread_main(void* self);
  void wait_for_death();
  [[nodiscard]] result begin(settings const& chosen);
  [[nodiscard]] int write(std::string const& path, chunk_notes& noted) const noexcept;

  Sched& sched_;
  trace_turn turn_;
  atomic<std::int64_t> last_snapshot_ns_{0};  // when the last one was begun; 0: there was none since the start
  settings chosen_{};
  std::uint32_t trace_ = 0;
  atomic<snapshot> snapshot_{snapshot::none};
  chunk_notes noted_;  // by the thread that makes the snapshot
  // The thread that writes the last file, because the dying one may not.
  os::thread thread_{};
  int tid_ = 0;
  os::note ordered_;
  atomic<order> order_{order::none};
  atomic<bool> writes_at_death_{false};  // there is a file_at_death
  atomic<bool> has_written_{false};
};

}  // namespace thrum::rt::trace
