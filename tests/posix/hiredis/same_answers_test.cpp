// A program on hiredis as threads and as goroutines.
#include "posix/hiredis/redis.h"
#include "posix/many.h"
#include "support/child.h"

#include <string>

namespace thrum::test {
namespace {

std::string session(redis const& server, int i) {
  redis_connection const connected(server);
  redisContext* const c = connected.get();
  if (!connected.is_good()) return "not connected";
  std::string const key = "key_" + std::to_string(i);
  std::string told;
  auto const ask = [&](std::string const& text) { told += command(c, text.c_str()) + "\n"; };
  for (char const* const kind : {"", "list_", "long_", "n_"}) command(c, ("DEL " + (kind + key)).c_str());
  ask("SET " + key + " value");
  ask("GET " + key);
  ask("GET nothing");
  ask("INCR " + key);          // is no number
  ask("LPUSH " + key + " x");  // is no list
  ask("NONSENSE");
  ask("RPUSH list_" + key + " a b c");
  ask("LRANGE list_" + key + " 0 -1");
  ask("BLPOP list_" + key + " 1");
  ask("BLPOP empty_" + key + " 0.05");  // waits in vain
  for (int n = 0; n < 300; ++n) redisAppendCommand(c, "APPEND long_%s %d-%b", key.c_str(), n, key.data(), key.size());
  for (int n = 0; n < 300; ++n) told += next_reply(c) + " ";
  ask("GET long_" + key);
  ask("MULTI");
  ask("INCR n_" + key);
  ask("INCRBY n_" + key + " 10");
  ask("EXEC");
  ask("EVAL return{KEYS[1],ARGV[1],{1,2,3}} 1 " + key + " word");

  // A limit of time that is over: hiredis says so by errno's words.
  timeval const limit{0, 50'000};
  redisSetTimeout(c, limit);
  ask("BLPOP empty_" + key + " 0");
  told += redisReconnect(c) == REDIS_OK ? "again\n" : "not again\n";
  redisSetTimeout(c, timeval{60, 0});  // the short one passes on a busy machine
  ask("PING");
  ask("QUIT");

  redisContext* const no_server = redisConnectWithTimeout("127.0.0.1", 1, timeval{5, 0});
  told += std::to_string(no_server->err) + " " + no_server->errstr + "\n";
  redisFree(no_server);
  redisContext* const nowhere = redisConnectUnix((server.socket() + "_none").c_str());
  told += std::to_string(nowhere->err) + " " + nowhere->errstr + "\n";
  redisFree(nowhere);
  return told;
}

class posix_hiredis_session : public at_every_width {};
THRUM_AT_WIDTHS(posix_hiredis_session, 1, 2, 8);

TEST_P(posix_hiredis_session, goroutines_are_told_what_threads_are_told) {
  THRUM_WITH_REDIS(server);
  told_alike(procs(), 24, [&](int i) { return session(server, i); });
}

}  // namespace
}  // namespace thrum::test
