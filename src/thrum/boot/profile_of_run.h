// The CPU profile of a whole run: THRUM_CPUPROFILE=FILE, and what is left to do when a run or the program ends.
#pragma once

#include "debug/cpu_profile.h"

#include <string>

namespace thrum::rt {

class profile_of_run {
 public:
  explicit profile_of_run(Sched& s);
  ~profile_of_run();
  profile_of_run(profile_of_run const&) = delete;
  profile_of_run& operator=(profile_of_run const&) = delete;

  // Begins a profile if the environment asks for it. Throws std::system_error if that is not possible. The second run
  // of a process writes FILE.2, and so on.
  void start_if_asked();
  // Ends the profile, if there is one; writes it if the environment has asked for it, and prints what has gone wrong.
  // Returns false if a goroutine was stopped in the middle of starting or stopping one. Then the profile is left behind
  // with the run.
  [[nodiscard]] bool end() noexcept;
  // Leaves everything as it is, because the profile's thread is not in this process, or the program ends by exit().
  void abandon() noexcept;

  // What end() does with the profile, if there is one. Blocks the thread.
  void stop_and_write() noexcept;
  // The same before a panic ends the program, on the goroutine that panics, whose run does not end meanwhile. The file
  // stays empty if the names of functions cannot be had within some seconds.
  void write_before_death() noexcept;
  // nullptr: no run is alive. It stays as long as the run.
  [[nodiscard]] static cpu_profile* of_live_run() noexcept;
  [[nodiscard]] static profile_of_run* live_one() noexcept;

  [[nodiscard]] bool may_leave_signals() const noexcept { return cpu_ != nullptr && cpu_->may_leave_signals(); }

 private:
  struct file;

  cpu_profile* cpu_;
  std::string path_;  // empty: the environment has not asked for a profile
};

}  // namespace thrum::rt
