#include "arguments.h"

#include <charconv>
#include <string>
#include <string_view>

namespace tour {
namespace {

constexpr int procs_max = 1024;  // thrum's own limit

int parse_procs(std::string_view text) {
  int number = 0;
  auto const [stopped_at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stopped_at != text.data() + text.size() || number < 1 || number > procs_max) {
    throw bad_arguments("--procs needs a number from 1 to " + std::to_string(procs_max) + ", not '" +
                        std::string(text) + "'");
  }
  return number;
}

}  // namespace

char const* const usage =
    "usage: tour [--procs N]\n"
    "\n"
    "Runs more than a million goroutines and shows what the scheduler did with them.\n"
    "\n"
    "  --procs N   how many goroutines run at once, 1 to 1024\n"
    "              (default: THRUM_MAXPROCS, GOMAXPROCS, then the CPUs this process may use)\n"
    "  --help      this text\n"
    "\n"
    "NO_COLOR=1 in the environment: no colours.\n"
    "Exit code: 0, 1 if an act came to a wrong result, 2 for a bad command line.\n";

arguments parse(std::span<char* const> given) {
  constexpr std::string_view procs_is = "--procs=";
  arguments parsed;
  while (!given.empty()) {
    std::string_view const argument = given.front();
    given = given.subspan(1);
    if (argument == "--help" || argument == "-h") {
      parsed.help = true;
    } else if (argument == "--procs") {
      if (given.empty()) throw bad_arguments("--procs needs a number");
      parsed.procs = parse_procs(given.front());
      given = given.subspan(1);
    } else if (argument.starts_with(procs_is)) {
      parsed.procs = parse_procs(argument.substr(procs_is.size()));
    } else {
      throw bad_arguments("there is no argument '" + std::string(argument) + "'");
    }
  }
  return parsed;
}

}  // namespace tour
