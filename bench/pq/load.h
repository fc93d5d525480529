// The workload `pq`: unmodified libpq with 500 connections, each of which is queried continuously by its own task. The
// code is the same for goroutines on thrum::posix and for threads; go/pq.go speaks the protocol itself.
// bench/harness/pq.py starts the server and passes its address.
#pragma once

#include "../common.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <libpq-fe.h>

namespace bench {

inline constexpr int pq_connections = 500;
inline constexpr auto pq_warm_up = std::chrono::milliseconds(500);
inline constexpr auto pq_load = std::chrono::seconds(3);

class pq_client {
 public:
  pq_client(std::string const& where, int number)
      : connection_(PQconnectdb(where.c_str())), answer_(std::to_string(number)), query_("select " + answer_) {
    if (PQstatus(connection_) != CONNECTION_OK) fail(1, PQerrorMessage(connection_));
  }
  ~pq_client() { PQfinish(connection_); }
  pq_client(pq_client const&) = delete;
  pq_client& operator=(pq_client const&) = delete;

  void ask() {
    PGresult* const got = PQexec(connection_, query_.c_str());
    if (PQresultStatus(got) != PGRES_TUPLES_OK || PQntuples(got) != 1 || answer_ != PQgetvalue(got, 0, 0)) {
      fail(1, query_ + ": " + PQerrorMessage(connection_));
    }
    PQclear(got);
  }

 private:
  PGconn* connection_;
  std::string answer_;
  std::string query_;
};

// Each counter has its own cache line, so that the tasks do not slow each other down.
struct alignas(64) pq_counter {
  std::atomic<std::int64_t> queries{0};
};

// Latch is a latch type that such tasks can wait for. start(body) starts a task, and join() waits for all tasks.
template <class Latch, class Start, class Join>
std::vector<figure> measure_pq(Start start, Join join) {
  char const* const where = std::getenv("BENCH_PQ_WHERE");
  if (where == nullptr) fail(2, "BENCH_PQ_WHERE does not say where the server is: run it by bench/run.py");
  std::vector<pq_counter> counters(pq_connections);
  auto const sum = [&] {
    return std::accumulate(counters.begin(), counters.end(), std::int64_t{0}, [](std::int64_t so_far, auto const& one) {
      return so_far + one.queries.load(std::memory_order_relaxed);
    });
  };
  Latch connected(pq_connections);
  Latch begin(1);
  std::atomic<bool> over{false};
  std::int64_t const before_bytes = resident_bytes();
  for (int i = 0; i < pq_connections; ++i) {
    start([&, i] {
      pq_client client(where, i);
      client.ask();
      connected.count_down();
      begin.wait();
      auto& queries = counters[static_cast<std::size_t>(i)].queries;
      while (!over.load(std::memory_order_relaxed)) {
        client.ask();
        queries.store(queries.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    });
  }
  connected.wait();
  double const bytes = static_cast<double>(resident_bytes() - before_bytes);
  begin.count_down();
  std::this_thread::sleep_for(pq_warm_up);
  std::int64_t const before = sum();
  double elapsed_ns = 0;
  double const cpu_ns =
      cpu_nanoseconds_of([&] { elapsed_ns = nanoseconds_of([&] { std::this_thread::sleep_for(pq_load); }); });
  auto const queries = static_cast<double>(sum() - before);
  over = true;
  join();
  return {{"", queries / elapsed_ns * 1e6, "k queries/s"},
          {"_cpu", cpu_ns / 1e3 / queries, "us CPU/query"},
          {"_memory", bytes / 1024 / pq_connections, "KiB/connection"}};
}

}  // namespace bench
