// Reports where a test hangs. When a test runs longer than THRUM_TEST_HANG seconds (default 50, and 250 under the
// sanitizers), the watchdog lists its goroutines, Ms and Ps on standard error and ends the program with exit code 3.
// ctest's own time limit comes later and would kill the program without a message.
//
// The list is read while the scheduler runs, without its locks, because one of them may be the cause of the hang. So it
// is a snapshot and may be inconsistent. Printing it is the last thing that the program does.
//
// The watchdog is a thread, and a thread that the scheduler does not know silences its deadlock report by design (T13).
// So it is started only by the first watched run of a program, and never in the child process of a death test.
#pragma once

namespace thrum::rt {
struct Sched;
}

namespace thrum::test {

// Made by run_at on the main goroutine. It names the scheduler that the watchdog lists.
class watched_run {
 public:
  watched_run();
  ~watched_run();
  watched_run(watched_run const&) = delete;
  watched_run& operator=(watched_run const&) = delete;
};

// Called by run_at, outside the scheduler, before the first watched run of this program.
void start_watchdog();

// The number of threads of the process besides the caller and the watchdog, outside a run: those of a sanitizer or an
// emulator. If there are any, the scheduler reports no deadlocks.
[[nodiscard]] int unknown_threads();

// Prints the watchdog's list.
void list_everything(rt::Sched& s) noexcept;

}  // namespace thrum::test
