// libpq, as it is: hundreds of goroutines in queries that take their time. Debian's keeps the address of errno over recv (T08).
#include "support/child.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <unistd.h>

namespace thrum::test {
namespace {

// A cluster of our own in a folder of our own. PostgreSQL does not run as root: there it is somebody else's.
class postgres {
 public:
  postgres() {
    char folder[] = "/tmp/thrum_pq_XXXXXX";
    folder_ = ::mkdtemp(folder);
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
    std::string const bin = "$(ls -d /usr/lib/postgresql/*/bin | tail -1)";
    std::string const setup = bin + "/initdb -D " + folder_ + "/data -A trust -U thrum >/dev/null && " + bin +
                              "/pg_ctl -D " + folder_ + "/data -w -l " + folder_ +
                              "/log -o \"-c listen_addresses= -k " + folder_ +
                              " -c max_connections=600 -c shared_buffers=32MB -c fsync=off\" start >/dev/null";
    is_up_ = run_shell(as_somebody(setup)).code == 0;
  }
  ~postgres() {
    static_cast<void>(run_shell(
        as_somebody("$(ls -d /usr/lib/postgresql/*/bin | tail -1)/pg_ctl -D " + folder_ + "/data -m immediate stop")));
    std::filesystem::remove_all(folder_);
  }
  postgres(postgres const&) = delete;
  postgres& operator=(postgres const&) = delete;
  [[nodiscard]] bool is_up() const { return is_up_; }
  [[nodiscard]] std::string where() const { return "host=" + folder_ + " user=thrum dbname=postgres"; }

 private:
  static std::string as_somebody(std::string const& command) {
    return ::geteuid() == 0 ? "runuser -u postgres -- sh -c '" + command + "'" : command;
  }
  std::string folder_;
  bool is_up_ = false;
};

TEST(posix_pq, T08_hundreds_of_goroutines_wait_for_their_queries_at_two_ps) {
  postgres const server;
  if (!server.is_up()) GTEST_SKIP() << "no cluster can be made here";
  run_at(2, [&] {
    auto const count = static_cast<int>(is_long() ? 500 : scaled(200, 50));
    std::atomic<int> connected{0};
    std::atomic<int> good{0};
    latch start(1);
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&, i] {
        PGconn* const c = PQconnectdb(server.where().c_str());
        EXPECT_EQ(PQstatus(c), CONNECTION_OK) << PQerrorMessage(c);
        ++connected;
        start.wait();
        std::string const query = "select pg_sleep(0.2), " + std::to_string(i);
        PGresult* const r = PQexec(c, query.c_str());
        if (PQresultStatus(r) == PGRES_TUPLES_OK && PQgetvalue(r, 0, 1) == std::to_string(i)) ++good;
        PQclear(r);
        PQfinish(c);
      });
    }
    EXPECT_TRUE(wait_until([&] { return connected == count; }, 120'000'000'000));
    start.count_down();
    all.wait();
    EXPECT_EQ(good, count);
    EXPECT_LE(num_threads(), 32);
  });
}

}  // namespace
}  // namespace thrum::test
