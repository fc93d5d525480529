// T03: the end of a run stops loops if run() can tell that they are outside of malloc, or if
// options::stop_beside_own_malloc asks for it.
//
// The program is linked with several mallocs (CMakeLists.txt). The argument "own" says that malloc is a part of the
// program, and "shared" that it is in a shared library.
#include "own_malloc.h"
#include <thrum/thrum.h>

#include <atomic>
#include <string_view>

namespace {

std::atomic<long> rounds{0};

// Looks for `patience_ms` at most.
bool goes_on_after_the_run(thrum::options chosen, int patience_ms) {
  chosen.max_procs = 2;
  thrum::run(
      [] {
        long const before = rounds;
        thrum::go([] {
          for (;;) rounds.fetch_add(1, std::memory_order_relaxed);
        });
        while (rounds == before) thrum::yield();
      },
      chosen);
  long const at_the_end = rounds;
  for (int i = 0; i < patience_ms && rounds == at_the_end; ++i) ::usleep(1'000);
  return rounds != at_the_end;
}

}  // namespace

int main(int count, char** arguments) {
  std::string_view const malloc_is = count == 2 ? arguments[1] : "";
  if (malloc_is != "own" && malloc_is != "shared") own_malloc::fail("the argument is own or shared\n");
  thrum::options stops;
  stops.stop_beside_own_malloc = true;
  if (goes_on_after_the_run(stops, 100)) own_malloc::fail("a loop goes on after the run\n");
  // The last one, because a loop that goes on counts on for good.
  bool const goes_on = goes_on_after_the_run({}, malloc_is == "own" ? 10'000 : 100);
  if (goes_on && malloc_is == "shared")
    own_malloc::fail("a loop goes on after the run, although malloc is elsewhere\n");
  if (!goes_on && malloc_is == "own") own_malloc::fail("a loop was stopped that may be inside malloc\n");
  ::_exit(0);
}
