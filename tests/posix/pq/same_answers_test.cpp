// A program on libpq as threads and as goroutines.
#include "posix/many.h"
#include "posix/pq/postgres.h"

#include <string>

#include <poll.h>

namespace thrum::test {
namespace {

std::string copy_in_and_out(PGconn* c) {
  std::string told = told_by(result(PQexec(c, "create temp table copied (n int, s text)")));
  told += PQresStatus(PQresultStatus(result(PQexec(c, "copy copied from stdin")).get()));
  for (int row = 0; row < 5000; ++row) {
    std::string const line = std::to_string(row) + "\tthe row of this number\n";
    if (PQputCopyData(c, line.data(), static_cast<int>(line.size())) != 1) told += " not put";
  }
  told += " " + std::to_string(PQputCopyEnd(c, nullptr)) + "\n";
  told += told_by(result(PQgetResult(c)));
  while (PGresult* const more = PQgetResult(c)) told += told_by(result(more));
  told += PQresStatus(PQresultStatus(result(PQexec(c, "copy copied to stdout")).get()));
  long bytes = 0;
  char* line = nullptr;
  int got = 0;
  while ((got = PQgetCopyData(c, &line, 0)) > 0) {
    bytes += got;
    PQfreemem(line);
  }
  told += " " + std::to_string(bytes) + " bytes, then " + std::to_string(got) + "\n";
  while (PGresult* const more = PQgetResult(c)) told += told_by(result(more));
  return told;
}

// PQcancel connects, writes, and waits for the server to hang up. It says nothing if it came before the query.
std::string cancelled(PGconn* c) {
  std::string told = std::to_string(PQsendQuery(c, "select pg_sleep(600)")) + "\n";
  PGcancel* const cancel = PQgetCancel(c);
  do {
    char error[256]{};
    if (PQcancel(cancel, error, sizeof error) != 1) told += error;
    pollfd answer{PQsocket(c), POLLIN, 0};
    ::poll(&answer, 1, 100);
    PQconsumeInput(c);
  } while (PQisBusy(c) != 0);
  PQfreeCancel(cancel);
  while (PGresult* const r = PQgetResult(c)) told += told_by(result(r));
  return told;
}

std::string notified(PGconn* c, int i) {
  std::string const name = "channel_" + std::to_string(i);
  std::string told = told_by(result(PQexec(c, ("listen " + name).c_str())));
  told += told_by(result(PQexec(c, ("notify " + name + ", 'a word'").c_str())));
  PQconsumeInput(c);
  while (PGnotify* const note = PQnotifies(c)) {
    told += std::string(note->relname) + " " + note->extra + (note->be_pid == PQbackendPID(c) ? " of its own\n" : "\n");
    PQfreemem(note);
  }
  return told;
}

std::string session(std::string const& where, int i) {
  connection const c(where);
  if (!c.is_good()) return c.error();
  auto const ask = [&](auto const&... queries) {  // one after the other
    std::string answers;
    ((answers += told_by(result(PQexec(c.get(), std::string(queries).c_str())))), ...);
    return answers;
  };
  std::string const number = std::to_string(i);
  std::string told = PQsslInUse(c.get()) != 0 ? "TLS\n" : "no TLS\n";
  told += ask("create temp table t (n int primary key, s text)");
  told += ask("insert into t select g, md5((g * " + number + ")::text) from generate_series(1, 500) g");
  told += ask("select count(*), min(s), max(s) from t");
  told += ask("select * from t order by n desc");
  told += ask("selct 1");
  told += ask("insert into t values (7, 'there is one')");
  told += ask("begin", "select 1 / 0", "select 1", "rollback");
  told += ask("select pg_sleep(0.02), " + number);
  told += ask("select repeat('x', 3000000), length(repeat('y', 3000))");
  told += copy_in_and_out(c.get());
  told += notified(c.get(), i);
  told += cancelled(c.get());
  told += ask("begin", "set local statement_timeout = 20", "select pg_sleep(600)", "rollback");
  told += ask("select pg_terminate_backend(pg_backend_pid())");
  told += PQstatus(c.get()) == CONNECTION_BAD ? "the connection is lost\n" : "the connection is there\n";
  PQreset(c.get());
  told += ask("select 'again', " + number);
  connection const refused("host=127.0.0.1 port=1 user=nobody");
  return told + refused.error();
}

class posix_pq_session : public at_every_width {};
THRUM_AT_WIDTHS(posix_pq_session, 1, 2, 8);

TEST_P(posix_pq_session, goroutines_are_told_what_threads_are_told) {
  THRUM_WITH_POSTGRES(server);
  told_alike(procs(), 24, [&](int i) { return session(i % 2 == 0 ? server.where() : server.where_with_tls(), i); });
}

}  // namespace
}  // namespace thrum::test
