// The parts of example_kv when memory runs out. The server survives that, so no half-made object may be left. Also
// checks how much memory the parts keep when they do not need it any more.
#include "base/platform.h"
#include "kv/client.h"
#include "kv/command.h"
#include "kv/request_parser.h"
#include "kv/server.h"
#include "kv/store.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/tcp.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

#if !THRUM_ASAN && !THRUM_TSAN  // which have operators of their own

namespace {

constexpr auto unlimited = std::numeric_limits<std::size_t>::max();
constinit thread_local std::size_t allocations_left = unlimited;  // to this thread
constinit std::atomic<std::size_t> bytes_refused{unlimited};  // to every thread: allocations of at least this size fail
constinit std::atomic<std::size_t> bytes_in_use{0};

void* allocate(std::size_t bytes) noexcept {
  if (allocations_left == 0 || bytes >= bytes_refused.load()) return nullptr;
  if (allocations_left != unlimited) --allocations_left;
  void* const made = std::malloc(bytes);
  bytes_in_use += ::malloc_usable_size(made);
  return made;
}

void* allocate_or_throw(std::size_t bytes) {
  if (void* const made = allocate(bytes)) return made;
  throw std::bad_alloc();
}

void release(void* gone) noexcept {
  bytes_in_use -= ::malloc_usable_size(gone);
  std::free(gone);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, std::nothrow_t const&) noexcept { return allocate(bytes); }
void operator delete(void* gone) noexcept { release(gone); }
void operator delete[](void* gone) noexcept { release(gone); }
void operator delete(void* gone, std::size_t) noexcept { release(gone); }
void operator delete[](void* gone, std::size_t) noexcept { release(gone); }

namespace {

using namespace std::chrono_literals;

constexpr char const* name = "a name that is too long to lie in a string itself";
constexpr char const* other_name = "another name that is too long to lie in a string itself";
constexpr char const* element = "an element that is too long to lie in a string itself";

// Commands of a client without a connection, without a run: what would wait throws std::logic_error.
class without_run {
 public:
  std::string ask(std::vector<std::string_view> const& words) {
    kv::replies answer;
    execute(words, answer);
    return answer.text();
  }
  // The same with memory for so many allocations. False: it was not enough, or there was something to wait for.
  bool ask_with(std::size_t allocations, std::vector<std::string_view> const& words) {
    kv::replies answer;
    bool is_answered = false;
    allocations_left = allocations;
    try {
      execute(words, answer);
      is_answered = true;
    } catch (std::bad_alloc const&) {
    } catch (std::logic_error const&) {
      waited = true;
    }
    allocations_left = unlimited;
    return is_answered;
  }

  kv::server on;
  bool waited = false;

 private:
  void execute(std::vector<std::string_view> const& words, kv::replies& answer) {
    kv::call c{words, answer, on.db, client_, on};
    kv::execute(c);
  }

  kv::client client_{on, thrum::tcp_conn()};
};

TEST(kv_memory, a_push_for_which_there_is_none_leaves_no_list) {
  for (std::size_t enough = 0;; ++enough) {
    without_run client;
    static_cast<void>(client.ask({"PING"}));  // makes the table of commands
    if (client.ask_with(enough, {"RPUSH", name, element, element})) break;
    ASSERT_EQ(client.ask({"EXISTS", name}), ":0\r\n") << enough;
    ASSERT_EQ(client.ask({"LPOP", name}), "$-1\r\n");
    ASSERT_EQ(client.ask({"RPUSH", name, "x"}), ":1\r\n");
    ASSERT_LT(enough, 100U);
  }
}

TEST(kv_memory, a_list_without_elements_is_none) {
  without_run client;
  auto const put_empty_list = [&] {
    kv::key const where(name);
    client.on.db.lock(where).make(where).value.emplace<kv::list>();
  };
  put_empty_list();
  EXPECT_EQ(client.ask({"LPOP", name}), "$-1\r\n");
  put_empty_list();
  EXPECT_EQ(client.ask({"RPOP", name, "2"}), "*-1\r\n");
  put_empty_list();
  EXPECT_EQ(client.ask({"RPUSH", "list", "x"}), ":1\r\n");
  EXPECT_EQ(client.ask({"BLPOP", name, "list", "0"}), "*2\r\n$4\r\nlist\r\n$1\r\nx\r\n");
  put_empty_list();
  EXPECT_EQ(client.ask({"RPUSH", name, "x"}), ":1\r\n");
  EXPECT_EQ(client.ask({"LPOP", name}), "$1\r\nx\r\n");
}

TEST(kv_memory, a_client_that_cannot_wait_for_want_of_it_stands_in_no_queue) {
  without_run client;
  static_cast<void>(client.ask({"PING"}));
  for (std::size_t enough = 0; !client.waited; ++enough) {
    ASSERT_FALSE(client.ask_with(enough, {"BLPOP", name, other_name, "0"}));
    for (char const* const each : {name, other_name}) {
      ASSERT_EQ(client.ask({"RPUSH", each, "x"}), ":1\r\n");
      ASSERT_EQ(client.ask({"LPOP", each}), "$1\r\nx\r\n") << enough;
    }
    ASSERT_LT(enough, 100U);
  }
}

TEST(kv_memory, a_client_that_waits_is_not_forgotten_by_a_giver_that_has_none) {
  for (std::size_t enough = 0;; ++enough) {
    without_run client;
    static_cast<void>(client.ask({"PING"}));
    kv::waiter waiting(kv::list_end::left);
    kv::key const where(name);
    client.on.db.lock(where).add_waiter(where, waiting);
    bool const is_given = client.ask_with(enough, {"RPUSH", name, element});
    if (!is_given) static_cast<void>(client.ask({"RPUSH", name, element}));
    auto const what = waiting.wait_for(0s);
    ASSERT_TRUE(what) << enough;
    ASSERT_EQ(what->element, element);
    if (is_given) break;
    ASSERT_LT(enough, 100U);
  }
}

TEST(kv_memory, a_client_that_waits_and_sends_more_than_there_is_memory_for_is_left) {
  thrum::test::run_at(2, [] {
    kv::server server;
    auto listener = thrum::tcp_listener::listen("127.0.0.1:0");
    auto serving = thrum::spawn([&] { server.serve(listener); });
    {
      auto client = thrum::tcp_conn::dial(listener.local_endpoint(), 30s);
      std::string const much(64 * 1024, 'x');
      client.write_all("BLPOP list 0\r\n");
      EXPECT_TRUE(thrum::test::wait_until([&] { return server.waiting_clients.load() == 1; }));
      bytes_refused = 8 * 1024;
      std::error_code gone;
      client.write_all(much, gone);
      std::error_code failed;
      client.set_read_deadline(30s, failed);
      char byte = 0;
      EXPECT_EQ(client.read_some({&byte, 1}, failed), 0U);
      EXPECT_FALSE(failed) << failed.message();
      bytes_refused = unlimited;
    }
    EXPECT_EQ(server.waiting_clients.load(), 0);
    server.stop(listener);
    serving.join();
  });
}

std::size_t parse(kv::request_parser& parser, std::string_view bytes) {
  std::size_t arguments = 0;
  while (!bytes.empty()) {
    thrum::mutable_buffer const room = parser.room();
    std::size_t const size = bytes.copy(static_cast<char*>(room.data()), room.size());
    parser.received(size);
    bytes.remove_prefix(size);
    while (parser.next() == kv::request_parser::outcome::request) arguments += parser.arguments().size();
  }
  static_cast<void>(parser.room());
  return arguments;
}

TEST(kv_memory, of_a_request_with_very_many_arguments_is_given_back) {
  constexpr std::size_t kept_max = 256 * 1024;
  std::size_t const many = kv::request_parser::arguments_max;
  std::string array = "*" + std::to_string(many) + "\r\n";
  for (std::size_t i = 0; i < many; ++i) array += "$0\r\n\r\n";
  std::string words;
  while (words.size() < 60'000) words += "x ";
  words += "\r\n";

  std::size_t const before = bytes_in_use;
  kv::request_parser parser;
  EXPECT_EQ(parse(parser, array), many);
  EXPECT_LE(bytes_in_use - before, kept_max);
  EXPECT_EQ(parse(parser, words), words.size() / 2 - 1);
  EXPECT_LE(bytes_in_use - before, kept_max);
}

}  // namespace

#endif
