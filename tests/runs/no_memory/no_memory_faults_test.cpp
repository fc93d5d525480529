// What happens when there is no memory. A goroutine that thrum itself starts has no caller to which it could report
// that, and the program must not end for that reason. A run that cannot begin reports it to the caller of run().
//
// This program replaces the C library's lookup of names, and operator new. When told to, operator new throws on all
// goroutines except main, or on this thread after some calls, or on the server's thread of the debug socket.
#include "core/current.h"
#include "core/sched.h"
#include "debug_socket/socket_client.h"
#include "support/fatal.h"
#include <thrum/profile.h>
#include <thrum/thrum.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

namespace {

constexpr std::uint64_t main_id = 1;
std::atomic<bool> others_have_no_memory{false};

[[maybe_unused]] bool const c_library_is_asked = ::setenv("THRUM_DEBUG", "netdns=c", 1) == 0;

constexpr int never = -1;
thread_local int calls_before_refusal = never;

// Of the thread that serves the debug socket.
std::atomic<int> server_tid{0};
std::atomic<int> server_calls_before_refusal{never};

bool is_refused() noexcept {
  if (server_calls_before_refusal != never && ::gettid() == server_tid && server_calls_before_refusal.fetch_sub(1) == 0)
    return true;
  if (calls_before_refusal != never && calls_before_refusal-- == 0) return true;
  thrum::rt::M const* const m = thrum::rt::current_m();
  return others_have_no_memory && m != nullptr && m->current != nullptr && m->current->id != main_id;
}

struct two_addresses {
  addrinfo first;
  addrinfo second;
  sockaddr_in6 v6;
  sockaddr_in v4;
};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = is_refused() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" int getaddrinfo(char const*, char const*, addrinfo const*, addrinfo** found) {
  auto* const made = static_cast<two_addresses*>(std::calloc(1, sizeof(two_addresses)));
  made->v6.sin6_family = AF_INET6;
  made->v6.sin6_addr = in6addr_loopback;
  made->v4.sin_family = AF_INET;
  made->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  made->first.ai_addr = reinterpret_cast<sockaddr*>(&made->v6);
  made->first.ai_addrlen = sizeof made->v6;
  made->first.ai_next = &made->second;
  made->second.ai_addr = reinterpret_cast<sockaddr*>(&made->v4);
  made->second.ai_addrlen = sizeof made->v4;
  *found = &made->first;
  return 0;
}
extern "C" void freeaddrinfo(addrinfo* found) {  // the name is known: what comes now is to be refused memory
  std::free(found);
  others_have_no_memory = true;
}

namespace thrum {
namespace {

class no_memory : public test::fatal_test {};

TEST_F(no_memory, NE_a_dial_in_both_families_does_not_end_the_program) {
  auto const child = [] {
    ::alarm(60);
    thrum::run([] {
      auto listener = tcp_listener::listen("127.0.0.1:0");
      std::string const address = "both.families:" + std::to_string(listener.local_endpoint().port());
      std::error_code error;
      auto const connected = tcp_conn::dial(address, error);
      others_have_no_memory = false;
      bool const is_refused = error == std::errc::not_enough_memory;
      std::_Exit(connected || is_refused ? 0 : 1);
    });
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(no_memory_for_a_run, is_not_taken_for_a_run_that_is_alive) {
  int refused = 0;
  bool is_made = false;
  for (int calls = 0; !is_made; ++calls) {
    calls_before_refusal = calls;
    try {
      rt::Sched const s(rt::settings{.procs = 2});
      is_made = true;
    } catch (std::bad_alloc const&) {
      ++refused;
    }
    calls_before_refusal = never;
    EXPECT_EQ(rt::Sched::live_epoch.load(rt::relaxed), 0U) << calls;
  }
  EXPECT_NE(refused, 0);
}

int tid_of_server() {
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "thrum-debug") return std::stoi(task.path().filename());
  }
  return 0;
}

bool can_begin_a_profile() {
  try {
    profile::start_cpu();
  } catch (std::logic_error const&) {
    return false;
  }
  return profile::stop_cpu() != "";
}

// At each allocation of the request in turn.
TEST(no_memory_for_a_request, leaves_no_cpu_profile_on_that_no_client_owns) {
  test::socket_folder const folder;
  run(
      [&] {
        bool has_begun = false;
        for (int calls = 0; !has_begun && calls < 200; ++calls) {
          test::socket_client client(folder.socket());
          ASSERT_TRUE(blocking([&] { return client.ask("about"); }).starts_with("ok "));
          server_tid = tid_of_server();
          ASSERT_NE(server_tid, 0);
          server_calls_before_refusal = calls;
          client.send("profile cpu 3600\n");
          // The server looks at its oldest clients first, so it has seen the request when it answers a new client. That
          // answer may be refused memory, too.
          static_cast<void>(blocking([&] { return test::ask_once(folder.socket(), "about"); }));
          server_calls_before_refusal = never;
          pollfd answered{client.fd(), POLLIN, 0};
          has_begun = ::poll(&answered, 1, 0) == 0;
          client.close();
          EXPECT_TRUE(blocking([&] { return test::ask_once(folder.socket(), "about"); }).starts_with("ok "));
          EXPECT_TRUE(can_begin_a_profile()) << "allocation " << calls;
          if (testing::Test::HasFailure()) return;
        }
        EXPECT_TRUE(has_begun);
      },
      {.debug_socket = folder.socket()});
}

}  // namespace
}  // namespace thrum
