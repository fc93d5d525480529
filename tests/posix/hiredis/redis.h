// A Redis server of the test's own, on a socket in a folder of the test's own.
#pragma once

#include "posix/server.h"

#include <string>

#include <hiredis/hiredis.h>

namespace thrum::test {

class redis {
 public:
  redis()
      : server_({"redis-server", "--port", "0", "--unixsocket", socket(), "--dir", folder_.path(), "--save", "",
                 "--maxclients", "2000"},
                log(), nullptr, SIGKILL) {
    is_up_ = server_.comes_up([&] {
      redisContext* const c = redisConnectUnix(socket().c_str());
      bool const good = c != nullptr && c->err == 0;
      if (c != nullptr) redisFree(c);
      return good;
    });
  }
  redis(redis const&) = delete;
  redis& operator=(redis const&) = delete;
  [[nodiscard]] std::string socket() const { return folder_.path() + "/socket"; }
  [[nodiscard]] bool is_up() const { return is_up_; }
  [[nodiscard]] std::string said() const { return all_of(log()); }

 private:
  [[nodiscard]] std::string log() const { return folder_.path() + "/log"; }

  own_folder folder_;
  own_server server_;
  bool is_up_ = false;
};

class redis_connection {
 public:
  explicit redis_connection(redis const& server) : it_(redisConnectUnix(server.socket().c_str())) {}
  ~redis_connection() { redisFree(it_); }
  redis_connection(redis_connection const&) = delete;
  redis_connection& operator=(redis_connection const&) = delete;
  [[nodiscard]] bool is_good() const { return it_ != nullptr && it_->err == 0; }
  [[nodiscard]] redisContext* get() const { return it_; }

 private:
  redisContext* it_;
};

inline std::string told_by(redisReply const& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER: return std::to_string(reply.integer);
    case REDIS_REPLY_NIL: return "nil";
    case REDIS_REPLY_ARRAY: {
      std::string told = "[";
      for (std::size_t i = 0; i < reply.elements; ++i) told += (i > 0 ? " " : "") + told_by(*reply.element[i]);
      return told + "]";
    }
    default: return {reply.str, reply.len};
  }
}

// Takes the reply over.
inline std::string told_by(redisContext const* c, void* reply) {
  if (reply == nullptr) return "error " + std::to_string(c->err) + ": " + c->errstr;
  std::string told = told_by(*static_cast<redisReply*>(reply));
  freeReplyObject(reply);
  return told;
}

inline std::string command(redisContext* c, char const* text) { return told_by(c, redisCommand(c, text)); }

// The next one of a pipeline, or of what comes unasked.
inline std::string next_reply(redisContext* c) {
  void* reply = nullptr;
  return redisGetReply(c, &reply) == REDIS_OK ? told_by(c, reply) : told_by(c, nullptr);
}

}  // namespace thrum::test

// At the beginning of a test.
#define THRUM_WITH_REDIS(server)                                                                        \
  if (run_shell("command -v redis-server").code != 0) GTEST_SKIP() << "Redis' server is not installed"; \
  redis const server;                                                                                   \
  ASSERT_TRUE((server).is_up()) << (server).said()
