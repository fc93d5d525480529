// The flight recorder: the latest events of a run, in memory of a fixed size, until a snapshot writes them to a file.
//
// start(), stop() and snapshot() may be called by any thread. They never wait for each other: of two calls at the same
// time one fails. All block the thread and allocate.
#pragma once

#include "base/atomic.h"
#include "core/sched.h"
#include "debug/trace_output.h"
#include "os/note.h"
#include "os/thread.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thrum::rt::trace {

class recorder {
 public:
  explicit recorder(Sched& s) noexcept : sched_(s) {}
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
  [[nodiscard]] bool is_on() const noexcept { return state_.load(acquire) != state::off; }
  [[nodiscard]] bool is_changing() const noexcept {
    state const now = state_.load(acquire);
    return now != state::off && now != state::on;
  }

  // Whether no snapshot was begun in the last `apart_ns`, so that the caller is to begin one. If several threads ask,
  // one is told so.
  [[nodiscard]] bool is_due(std::int64_t apart_ns) noexcept;

  // A snapshot has three steps. The second one is made with the world stopped, so that the snapshot has the same moment
  // as its end in all streams. It allocates nothing. Then the world goes on, and the third one writes the file.
  [[nodiscard]] result begin_snapshot();
  void note_chunks() noexcept;
  [[nodiscard]] result finish_snapshot(std::string const& path);

  // For a program that is about to end: writes settings::file_at_death, but does not wait for longer than
  // `patience_ns`. Takes no lock and allocates nothing.
  void write_at_death(std::int64_t patience_ns) noexcept;

 private:
  enum class state : std::uint8_t { off, starting, on, writing, stopping };
  enum class order : std::uint32_t { none, write, end };

  static void* thread_main(void* self);
  void wait_for_death();
  [[nodiscard]] result begin(settings const& chosen);
  // What a snapshot knows of a chunk. Its stream may use it again before it is copied.
  struct noted_chunk {
    chunk* its;
    std::uint64_t filled_as;
    std::uint64_t base_ticks;
    std::uint64_t lost;
    std::uint32_t number;
    std::uint16_t stream;
    bool is_open;  // its stream goes on with it

    [[nodiscard]] static noted_chunk of(chunk& c, bool is_open) noexcept;
    [[nodiscard]] std::size_t copy_to(std::span<std::uint64_t> to, std::uint32_t of_trace) const noexcept;
  };
  [[nodiscard]] bool make_room_for_notes() noexcept;
  void note_chunks_as_they_are() noexcept;
  void forget_what_is_too_old(double oldest);
  [[nodiscard]] int write(std::string const& path) noexcept;

  Sched& sched_;
  int const process_ = os::process_id();
  atomic<state> state_{state::off};
  atomic<std::int64_t> last_snapshot_ns_{0};  // when the last one was begun; 0: there was none since the start
  settings chosen_{};
  std::uint32_t trace_ = 0;
  std::vector<noted_chunk> noted_;  // by the snapshot that is being written
  // The thread that writes the last file, because the dying one may not.
  os::thread thread_{};
  int tid_ = 0;
  os::note ordered_;
  atomic<order> order_{order::none};
  atomic<bool> has_written_{false};
};

}  // namespace thrum::rt::trace
