#include "command/play/run.h"

#include "command/play/player.h"
#include <thrum/run.h>

#include <exception>
#include <memory>
#include <thread>

namespace thrum::command {

performance perform(scenario const& what, std::string const& trace_path) {
  auto runs = std::make_unique<player>(what);
  std::exception_ptr failure;
  std::exception_ptr failure_of_watcher;
  std::thread watcher([&] {
    try {
      runs->watch();
    } catch (...) {
      failure_of_watcher = std::current_exception();
    }
  });
  try {
    thrum::run([&] { runs->play(trace_path); },
               {.max_procs = what.procs, .local_queue_capacity = what.queue, .deadlock_detection = false});
  } catch (...) {
    failure = std::current_exception();
  }
  runs->finish();
  watcher.join();
  if (failure_of_watcher) failure = failure_of_watcher;
  performance result = runs->take();
  if (runs->has_left_goroutines()) static_cast<void>(runs.release());
  if (failure) std::rethrow_exception(failure);
  return result;
}

}  // namespace thrum::command
