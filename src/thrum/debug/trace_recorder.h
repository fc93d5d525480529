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
  enum class outcome : std::uint8_t { done, in_use, failed };
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

  // Writes what was recorded. The world must have been stopped since the last event that is wanted, and every stream
  // closed (close_streams).
  [[nodiscard]] result snapshot(std::string const& path);
  static void close_streams(Sched& s) noexcept;  // with the world stopped

  // For a program that is about to end: writes settings::file_at_death, but does not wait for longer than
  // `patience_ns`. Takes no lock and allocates nothing.
  void write_at_death(std::int64_t patience_ns) noexcept;

 private:
  enum class state : std::uint8_t { off, starting, on, writing, stopping };
  enum class order : std::uint32_t { none, write, end };

  static void* thread_main(void* self);
  void wait_for_death();
  [[nodiscard]] int write(std::string const& path, bool with_open_chunks);
  [[nodiscard]] std::vector<chunk*> chunks_in_order(bool with_open_chunks) const;
  void write_chunk(output& to, chunk& c, bool is_open);

  Sched& sched_;
  int const process_ = os::process_id();
  atomic<state> state_{state::off};
  settings chosen_{};
  std::uint32_t trace_ = 0;
  std::vector<std::uint64_t> copy_;
  // The thread that writes the last file, because the dying one may not.
  os::thread thread_{};
  int tid_ = 0;
  os::note ordered_;
  atomic<order> order_{order::none};
  atomic<bool> has_written_{false};
};

}  // namespace thrum::rt::trace
