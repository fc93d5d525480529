// The tour: more than a million goroutines in a second or two, and what the scheduler did with them.
//
// Start reading here, then acts.cpp, where goroutines are used; the rest draws.
#include "acts.h"
#include "arguments.h"
#include "report.h"
#include "screen.h"
#include "text.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

namespace {

using namespace tour;

constexpr std::size_t label_width = 24;

void show_memory(screen& to, char const* state, std::uint64_t goroutines, std::uint64_t bytes) {
  to.line(std::string(screen::margin, ' ') + pad_right(state, label_width) +
          to.painted(ink::bold, pad_left(with_commas(bytes / goroutines) + " bytes each", 18)) +
          pad_left(mebibytes(bytes), 12));
}

void play_crowd(screen& to) {
  to.heading("1", "What a goroutine weighs: 100,000 of them", "one P");
  crowd_memory const found = measure_crowd();
  show_memory(to, "created, not yet run", found.goroutines, found.created_bytes);
  show_memory(to, "parked, all at once", found.goroutines, found.parked_bytes);
  to.sentence("A goroutine gets its stack when it first runs; before, it is only its record.");
}

void play(screen& to, std::string const& number, act const& played) {
  to.heading(number, played.title);
  finding const found = played.play(to);
  to.line(std::string(screen::margin, ' ') +
          pad_right(with_commas(found.done) + " " + found.what, label_width) +
          to.painted(ink::bold, pad_left(with_commas(found.took_ns / found.done) + " ns a " + found.one, 18)) +
          pad_left(milliseconds(found.took_ns), 12));
  to.sentence(found.to_be_seen);
}

void play_acts(screen& to) {
  int number = 2;
  for (act const& each : acts) play(to, std::to_string(number++), each);

  thrum::stats const now = thrum::read_stats();
  to.heading("", "What each P did");
  show_table(to, now.procs);
  to.heading("", "How each P's goroutines came to run");
  show_chart(to, now.procs);
  to.line();
  to.sentence(with_commas(sum_of(now.procs).created) + " goroutines on " + std::to_string(now.threads) + " OS threads");
}

int tour_with(arguments const& given) {
  auto const began = std::chrono::steady_clock::now();
  screen to;
  to.line(to.painted(ink::bold, "thrum") + "  Go's G-M-P scheduler as a C++20 library");
  play_crowd(to);
  thrum::run([&to] { play_acts(to); }, {.max_procs = given.procs});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    arguments const given = parse({argv + 1, argv + argc});
    if (given.help) {
      std::fputs(usage, stdout);
      return 0;
    }
    return tour_with(given);
  } catch (std::invalid_argument const& bad) {
    std::fprintf(stderr, "tour: %s\ntour --help says more.\n", bad.what());
    return 2;
  } catch (std::exception const& failed) {
    std::fprintf(stderr, "tour: %s\n", failed.what());
    return 1;
  }
}
