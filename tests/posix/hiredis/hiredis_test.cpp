// hiredis, as it is: blocking commands of many goroutines on few threads.
#include "support/child.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {
namespace {

// A server of our own, on a socket in a folder of our own.
class redis {
 public:
  redis() {
    char folder[] = "/tmp/thrum_redis_XXXXXX";
    folder_ = ::mkdtemp(folder);
    id_ = ::fork();
    if (id_ == 0) {
      std::string const path = socket();
      ::execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path.c_str(), "--dir", folder_.c_str(),
               "--save", "", "--logfile", "/dev/null", "--maxclients", "2000", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    is_up_ = wait_until([&] {
      redisContext* const c = redisConnectUnix(socket().c_str());
      bool const good = c != nullptr && c->err == 0;
      if (c != nullptr) redisFree(c);
      return good;
    });
  }
  ~redis() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  redis(redis const&) = delete;
  redis& operator=(redis const&) = delete;
  [[nodiscard]] std::string socket() const { return folder_ + "/socket"; }
  [[nodiscard]] bool is_up() const { return is_up_; }

 private:
  std::string folder_;
  pid_t id_ = -1;
  bool is_up_ = false;
};

std::string command(redisContext* c, char const* text) {
  auto* const reply = static_cast<redisReply*>(redisCommand(c, text));
  if (reply == nullptr) return "error";
  std::string said = reply->str != nullptr ? reply->str : std::to_string(reply->integer);
  if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) said = reply->element[1]->str;
  freeReplyObject(reply);
  return said;
}

class posix_hiredis : public at_every_width {};
THRUM_AT_WIDTHS(posix_hiredis, 1, 2, 8);

TEST_P(posix_hiredis, two_hundred_goroutines_wait_in_blocking_commands) {
  redis const server;
  ASSERT_TRUE(server.is_up());
  run([&] {
    constexpr int count = 200;
    std::atomic<int> waiting{0};
    std::atomic<int> good{0};
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&] {
        redisContext* const c = redisConnectUnix(server.socket().c_str());
        ASSERT_TRUE(c != nullptr && c->err == 0);
        EXPECT_EQ(command(c, "PING"), "PONG");
        ++waiting;
        if (command(c, "BLPOP list 0") == "item") ++good;  // until somebody pushes
        redisFree(c);
      });
    }
    EXPECT_TRUE(wait_until([&] { return waiting == count; }));
    redisContext* const c = redisConnectUnix(server.socket().c_str());
    ASSERT_TRUE(c != nullptr && c->err == 0);
    EXPECT_TRUE(
        wait_until([&] { return command(c, "INFO clients").find("blocked_clients:200") != std::string::npos; }));
    EXPECT_LE(num_threads(), procs() + 16);
    for (int i = 0; i < count; ++i) command(c, "RPUSH list item");
    all.wait();
    EXPECT_EQ(good, count);
    redisFree(c);
  });
}

}  // namespace
}  // namespace thrum::test
