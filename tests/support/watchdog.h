// A test that hangs says where: when a test runs longer than THRUM_TEST_HANG seconds (default 50, five times that under
// the sanitizers), its goroutines, Ms and Ps are listed on standard error and the program ends with exit code 3, before
// ctest's own limit kills it without a word.
//
// The list is read while the scheduler runs, without its locks (the hang may be one of them): a picture of a moment,
// and may be torn. It is the last thing that the program does.
//
// The watchdog is a thread, and a thread that the scheduler does not know silences its deadlock report by design (T13).
// So it is started only by the first watched run of a program, and never in the child process of a death test.
#pragma once

namespace thrum::rt {
struct Sched;
}

namespace thrum::test {

// Made by run_at on the main goroutine: this is the scheduler to list.
class watched_run {
 public:
  watched_run();
  ~watched_run();
  watched_run(watched_run const&) = delete;
  watched_run& operator=(watched_run const&) = delete;
};

// Before the first watched run on this thread; called by run_at, outside the scheduler.
void start_watchdog();

// Threads of the process that are neither ours nor the watchdog's, less the caller: the sanitizers', an emulator's. With
// any of them the scheduler keeps silent about deadlocks.
[[nodiscard]] int unknown_threads();

// What the watchdog prints.
void list_everything(rt::Sched& s) noexcept;

}  // namespace thrum::test
