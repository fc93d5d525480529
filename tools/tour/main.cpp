// The tour: more than a million goroutines in a second or two, and what the scheduler did with them.
//
// Start reading here, then acts.cpp, where goroutines are used; the rest draws.
#include "acts.h"
#include "arguments.h"
#include "measure.h"
#include "report.h"
#include "screen.h"
#include "text.h"
#include <thrum/thrum.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

namespace {

using namespace tour;

void show_figures(screen& to, std::string const& label, std::string const& each, std::string const& together) {
  to.line(pad_right(label, 22) + to.painted(ink::bold, pad_left(each, 20)) + pad_left(together, 12));
}

void play_crowd(screen& to) {
  to.heading("1", "What a goroutine weighs: 100,000 at once", "one P");
  crowd_memory const found = measure_crowd();
  if (auto const each = found.created_bytes_each) {
    show_figures(to, "created, not yet run", with_commas(*each) + " bytes each", mebibytes(*each * found.goroutines));
  } else {
    show_figures(to, "created, not yet run", "unknown", "");
  }
  show_figures(to, "run and now parked", with_commas(found.parked_bytes / found.goroutines) + " bytes each",
               mebibytes(found.parked_bytes));
  to.sentence("A goroutine gets its stack when it first runs; until then it is no more than its record.");
  if (!found.created_bytes_each)
    to.sentence("The machine is so busy that some of them ran before they could be weighed.");
}

void play(screen& to, int number, act const& played) {
  int const procs = thrum::max_procs();
  to.heading(std::to_string(number), played.title, procs == 1 ? "one P" : std::to_string(procs) + " Ps");
  finding const found = played.play(to);
  show_figures(to, with_commas(found.done) + " " + found.what,
               with_commas(found.took_ns / found.done) + " ns a " + found.one, milliseconds(found.took_ns));
  to.sentence(found.to_be_seen);
}

void show_what_was_done(screen& to) {
  thrum::stats const now = thrum::read_stats();
  to.heading("", "What each P did", "acts 2 to " + std::to_string(1 + acts.size()));
  show_table(to, now.procs);
  to.heading("", "How goroutines came to run on each P", "times  share");
  show_chart(to, now.procs);
  to.line();
  to.sentence(with_commas(sum_of(now.procs).created) + " goroutines ran on " + std::to_string(now.threads) +
              " OS threads; every result was right.");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    arguments const given = parse({argv + 1, argv + argc});
    if (given.help) {
      std::fputs(usage, stdout);
      return 0;
    }
    screen to;
    to.heading("", "thrum: Go's G-M-P scheduler as a C++20 library");
    to.sentence(
        "Goroutines (G) run on operating system threads (M). A thread needs a P to run them: "
        "a P is the right to run, and a queue.");
    play_crowd(to);
    return thrum::run(
        [&to] {
          int number = 2;
          for (act const& each : acts) play(to, number++, each);
          show_what_was_done(to);
        },
        {.max_procs = given.procs});
  } catch (std::invalid_argument const& bad) {
    std::fprintf(stderr, "tour: %s\ntour --help says more.\n", bad.what());
    return 2;
  } catch (std::exception const& failed) {
    std::fprintf(stderr, "tour: %s\n", failed.what());
    return 1;
  }
}
