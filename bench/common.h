// What all C++ bench programs share: the command line, the clock, the median, the resident size, and the arithmetic
// that checks the results. It does not depend on a runtime: each program passes its table of workloads and a function
// that runs a body inside its runtime. The Go program has the same parts in Go (go/main.go, go/measure.go).
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>
#include <unistd.h>

namespace bench {

// The element type of channels. It is as large as Go's int, so that no runtime copies less.
using go_int = std::int64_t;

// Ends the program, because a figure for wrong results is worth nothing.
[[noreturn]] inline void fail(int status, std::string const& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(status);
}

inline void check(std::string_view what, std::int64_t got, std::int64_t want) {
  if (got != want) {
    fail(1, std::string(what) + " is " + std::to_string(got) + ", should be " + std::to_string(want));
  }
}

// Odd, so that the median is the value of one round.
inline constexpr std::size_t round_count = 5;

// Sorts the values.
inline double quantile(std::span<double> values, double part) {
  std::sort(values.begin(), values.end());
  auto const at = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];  // part 1 is the largest value
}

template <class Round>
double median_of_rounds(Round round) {
  std::array<double, round_count> values{};
  for (double& value : values) {
    value = round();
  }
  return quantile(values, 0.5);
}

template <class Work>
double nanoseconds_of(Work work) {
  auto const start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// Times `work`, which is called with a size and returns how many units it has done.
template <class Work>
double ns_per_unit(Work work, int warm_up_size, int size) {
  work(warm_up_size);
  return median_of_rounds([&] {
    std::int64_t units = 0;
    double const elapsed_ns = nanoseconds_of([&] { units = work(size); });
    return elapsed_ns / static_cast<double>(units);
  });
}

// Times work that has no units.
template <class Work>
double ms_of(Work work, int warm_up_size, int size) {
  work(warm_up_size);
  return median_of_rounds([&] { return nanoseconds_of([&] { work(size); }) / 1e6; });
}

// Counts the CPU time of all threads of the process.
template <class Work>
double cpu_nanoseconds_of(Work work) {
  auto const process_ns = [] {
    timespec used{};
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) {
      fail(1, "cannot read the CPU time of the process");
    }
    return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
  };
  double const before_ns = process_ns();
  work();
  return process_ns() - before_ns;
}

// Reads the second field of statm, which is the number of resident pages.
inline std::int64_t resident_bytes() {
  std::FILE* statm = std::fopen("/proc/self/statm", "r");
  long total_pages = 0;
  long resident_pages = 0;
  if (statm == nullptr || std::fscanf(statm, "%ld %ld", &total_pages, &resident_pages) != 2) {
    fail(1, "cannot read the resident size from /proc/self/statm");
  }
  std::fclose(statm);
  return static_cast<std::int64_t>(resident_pages) * sysconf(_SC_PAGESIZE);
}

// The number of nodes of a binary tree without the root. The root is the caller and was not spawned.
constexpr std::int64_t tree_tasks(int depth) { return (std::int64_t{1} << (depth + 1)) - 2; }

constexpr std::int64_t fibonacci(int n) {
  std::int64_t value = 0;
  std::int64_t next = 1;
  for (int i = 0; i < n; ++i) {
    std::int64_t const sum = value + next;
    value = next;
    next = sum;
  }
  return value;
}

// Fork-join fib spawns once for every call with n >= 2.
constexpr std::int64_t fib_tasks(int n) { return fibonacci(n + 1) - 1; }
static_assert(fib_tasks(2) == 1 && fib_tasks(3) == 2 && fib_tasks(4) == 4);

// 0 + 1 + .. + (n - 1)
constexpr std::int64_t sum_below(std::int64_t n) { return n * (n - 1) / 2; }

// One result. Most workloads have one, with the name of the workload. Further ones add a suffix to the name.
struct figure {
  char const* suffix;
  double value;
  char const* unit;
};

// For workloads with a single figure.
inline std::vector<figure> one(char const* unit, double value) { return {{"", value, unit}}; }

struct workload {
  char const* name;
  std::vector<figure> (*measure)();  // called inside the runtime
};

inline std::string compiler() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#else
  return "gcc " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
}

// The output of --about says whether the build is optimised, because figures of a debug build look like real ones.
inline char const* optimization() {
#if defined(__OPTIMIZE__)
  return "";
#else
  return ", NOT OPTIMIZED";
#endif
}

// The output of --about also says whether THRUM_ABLATE has an effect: bench/harness/ablation.py.
inline char const* ablation() {
#if defined(THRUM_ABLATION)
  return ", heuristics can be left out";
#else
  return "";
#endif
}

inline int parse_procs(std::string_view text) {
  int procs = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), procs);
  if (error != std::errc{} || end != text.data() + text.size() || procs < 1) {
    fail(2, "procs must be a whole number of at least 1, not \"" + std::string(text) + "\"");
  }
  return procs;
}

// The whole of main(). enter(procs, body) runs body inside the runtime, with at most that many threads at the same
// time.
template <class Enter>
int command(int argc, char** argv, std::string_view runtime, std::span<workload const> workloads, Enter enter) {
  std::string_view const first = argc > 1 ? argv[1] : "";
  if (argc == 2 && first == "--list") {
    for (workload const& known : workloads) {
      std::puts(known.name);
    }
    return 0;
  }
  if (argc == 2 && first == "--about") {
    std::printf("%.*s, %s%s%s\n", static_cast<int>(runtime.size()), runtime.data(), compiler().c_str(), optimization(),
                ablation());
    return 0;
  }
  if (argc != 3) {
    fail(2, "usage: bench <workload> <procs> | --list | --about");
  }
  int const procs = parse_procs(argv[2]);
  auto const chosen =
      std::find_if(workloads.begin(), workloads.end(), [&](workload const& w) { return first == w.name; });
  if (chosen == workloads.end()) {
    fail(2, "unknown workload \"" + std::string(first) + "\"; --list shows those there are");
  }
  std::vector<figure> figures;
  enter(procs, [&] { figures = chosen->measure(); });
  for (figure const& found : figures) {
    std::printf("%s%s %d %.3f %s\n", chosen->name, found.suffix, procs, found.value, found.unit);
  }
  return 0;
}

}  // namespace bench
