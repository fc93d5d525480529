// file::read_at with io_uring and with threads, in turns: the table of decision 015.
//
//   bench_files [FILE]      makes a file of 64 MiB there and removes it at the end; it should be on a disk
//
// Other load on the machine changes the times. It hardly changes the CPU time per read, and does not change the number
// of threads.
#include "../common.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <random>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

namespace {

using namespace thrum;

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t pages = 16'384;

enum class pages_are : bool { on_disk, in_memory };

struct workload {
  char const* name;
  pages_are where;
  int goroutines;
  std::size_t reads;
};

constexpr workload workloads[] = {
    {"cold, 1 goroutine", pages_are::on_disk, 1, 2'000},
    {"cold, 4 goroutines", pages_are::on_disk, 4, 4'000},
    {"cold, 64 goroutines", pages_are::on_disk, 64, 8'000},
    {"cold, 1,000 goroutines", pages_are::on_disk, 1'000, 8'000},
    {"in memory, 1 goroutine", pages_are::in_memory, 1, 100'000},
    {"in memory, 64 goroutines", pages_are::in_memory, 64, 100'000},
};

double cpu_us() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int threads() {
  using each = std::filesystem::directory_iterator;
  return static_cast<int>(std::distance(each("/proc/self/task"), each()));
}

struct measured {
  std::array<double, bench::round_count> wall_us{};
  std::array<double, bench::round_count> cpu_us{};
  int threads_max = 0;
  std::uint64_t waited = 0;
  std::uint64_t kept_thread = 0;
};

void read_all(file& in, workload const& work, std::vector<std::size_t> const& order) {
  wait_group readers;
  std::size_t const share = work.reads / static_cast<std::size_t>(work.goroutines);
  for (std::size_t first = 0; first + share <= work.reads; first += share) {
    readers.go([&in, &order, first, share] {
      std::array<char, page_bytes> page{};
      for (std::size_t i = first; i < first + share; ++i) {
        std::size_t const which = order[i % order.size()];
        bench::check("bytes", static_cast<std::int64_t>(in.read_at(page, which * page_bytes)), page_bytes);
        bench::check("the page", static_cast<unsigned char>(page[7]), static_cast<unsigned char>(which));
      }
    });
  }
  readers.wait();
}

void measure(std::string const& path, workload const& work, std::size_t round, measured& to) {
  std::vector<std::size_t> order(pages);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(round));
  run(
      [&] {
        auto in = file::open(path);
        ::posix_fadvise(in.native_handle(), 0, 0, POSIX_FADV_RANDOM);
        ::posix_fadvise(in.native_handle(), 0, 0,
                        work.where == pages_are::on_disk ? POSIX_FADV_DONTNEED : POSIX_FADV_WILLNEED);
        if (work.where == pages_are::in_memory) read_all(in, {"", work.where, 1, pages}, order);
        auto const before_us = cpu_us();
        double const wall_ns = bench::nanoseconds_of([&] { read_all(in, work, order); });
        to.cpu_us[round] = (cpu_us() - before_us) / static_cast<double>(work.reads);
        to.wall_us[round] = wall_ns / 1000 / static_cast<double>(work.reads);
        to.threads_max = std::max(to.threads_max, threads());
        auto const now = read_stats();
        to.waited += now.file_reads_waited;
        to.kept_thread += now.file_reads_handed_off;
      },
      {.max_procs = 2});
}

void make_file(std::string const& path) {
  run([&] {
    auto out = file::open(path, open_for::write);
    std::array<char, page_bytes> page{};
    for (std::size_t i = 0; i < pages; ++i) {
      page.fill(static_cast<char>(i));
      out.write_all(page);
    }
    out.sync();
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::string const path = argc > 1 ? argv[1] : "bench_files.data";
  make_file(path);
  std::printf("%-26s %-9s %12s %12s %8s   %s\n", "4 KiB each, P=2", "", "us per read", "CPU us", "threads",
              "of all rounds: waited without a thread, with one");
  for (workload const& work : workloads) {
    measured by_uring;
    measured by_thread;
    for (std::size_t round = 0; round < bench::round_count; ++round) {
      ::unsetenv("THRUM_DEBUG");
      measure(path, work, round, by_uring);
      ::setenv("THRUM_DEBUG", "iouringoff=1", 1);
      measure(path, work, round, by_thread);
    }
    for (auto* const way : {&by_uring, &by_thread}) {
      std::printf("%-26s %-9s %12.2f %12.2f %8d   %llu, %llu\n", work.name, way == &by_uring ? "uring" : "hand-off",
                  bench::quantile(way->wall_us, 0.5), bench::quantile(way->cpu_us, 0.5), way->threads_max,
                  static_cast<unsigned long long>(way->waited), static_cast<unsigned long long>(way->kept_thread));
    }
  }
  std::filesystem::remove(path);
}
