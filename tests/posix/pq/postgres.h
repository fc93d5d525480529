// A PostgreSQL cluster of the test's own, on a Unix socket and, with TLS, on loopback. PostgreSQL does not run as root,
// so in a test that runs as root the cluster belongs to another user.
#pragma once

#include "posix/server.h"
#include "support/child.h"

#include <algorithm>
#include <memory>
#include <string>

#include <libpq-fe.h>

namespace thrum::test {

class postgres {
 public:
  // Empty if it is not installed.
  static std::string programs() {
    std::string last;
    std::error_code none;
    for (auto const& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
      if (std::filesystem::exists(version.path() / "bin/initdb")) last = std::max(last, version.path().string());
    }
    return last.empty() ? last : last + "/bin";
  }

  postgres() {
    std::string const data = folder_.path() + "/data";
    std::string const setup =
        programs() + "/initdb -D " + data + " -A trust -U thrum -N && umask 077 && cd " + data +
        " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
        " -keyout server.key -out server.crt";
    outcome const made = run_shell(::geteuid() == 0 ? "runuser -u postgres -- sh -c '" + setup + "'" : setup);
    said_ = made.text;
    if (made.code != 0) return;
    for (int tries = 0; tries < 3 && !is_up_; ++tries) {  // another process may have taken the port meanwhile
      port_ = std::to_string(free_port());
      server_.reset();
      server_ = std::make_unique<own_server>(
          std::vector<std::string>{programs() + "/postgres", "-D", data, "-k", folder_.path(), "-p", port_, "-c",
                                   "listen_addresses=127.0.0.1", "-c", "ssl=on", "-c", "max_connections=600", "-c",
                                   "shared_buffers=32MB", "-c", "fsync=off"},
          log(), "postgres", SIGQUIT);
      is_up_ = server_->comes_up([&] { return PQping(where().c_str()) == PQPING_OK; });
    }
  }
  postgres(postgres const&) = delete;
  postgres& operator=(postgres const&) = delete;

  [[nodiscard]] bool is_up() const { return is_up_; }
  [[nodiscard]] std::string said() const { return said_ + all_of(log()); }
  [[nodiscard]] std::string where() const { return "host=" + folder_.path() + " port=" + port_ + who; }
  [[nodiscard]] std::string where_with_tls() const { return "host=127.0.0.1 sslmode=require port=" + port_ + who; }

 private:
  [[nodiscard]] std::string log() const { return folder_.path() + "/log"; }

  static constexpr char const* who = " user=thrum dbname=postgres";
  own_folder folder_;
  std::unique_ptr<own_server> server_;
  std::string port_ = "0";
  std::string said_;
  bool is_up_ = false;
};

class connection {
 public:
  explicit connection(std::string const& where) : it_(PQconnectdb(where.c_str())) {}
  ~connection() { PQfinish(it_); }
  connection(connection const&) = delete;
  connection& operator=(connection const&) = delete;
  [[nodiscard]] bool is_good() const { return PQstatus(it_) == CONNECTION_OK; }
  [[nodiscard]] std::string error() const { return PQerrorMessage(it_); }
  [[nodiscard]] PGconn* get() const { return it_; }

 private:
  PGconn* it_;
};

struct clear_result {
  void operator()(PGresult* r) const { PQclear(r); }
};
using result = std::unique_ptr<PGresult, clear_result>;

// The first row and how many there are, or what went wrong.
inline std::string told_by(result const& r) {
  ExecStatusType const status = PQresultStatus(r.get());
  if (status == PGRES_COMMAND_OK) return std::string(PQcmdStatus(r.get())) + "\n";
  if (status != PGRES_TUPLES_OK) {
    char const* const code = PQresultErrorField(r.get(), PG_DIAG_SQLSTATE);
    return std::string(PQresStatus(status)) + " " + (code != nullptr ? code : "?") + "\n";
  }
  std::string told = std::to_string(PQntuples(r.get())) + " rows";
  for (int i = 0; PQntuples(r.get()) > 0 && i < PQnfields(r.get()); ++i) {
    std::string const value = PQgetvalue(r.get(), 0, i);
    told += " " + (value.size() < 100 ? value : std::to_string(value.size()) + " bytes");
  }
  return told + "\n";
}

}  // namespace thrum::test

// At the beginning of a test.
#define THRUM_WITH_POSTGRES(server)                                                         \
  if (postgres::programs().empty()) GTEST_SKIP() << "PostgreSQL's server is not installed"; \
  postgres const server;                                                                    \
  ASSERT_TRUE((server).is_up()) << (server).said()
