// What the debug socket answers, and what it refuses.
#include "debug_socket/socket_client.h"
#include "support/descriptors.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::ask_once;
using test::socket_client;

class debug_requests : public testing::Test {
 protected:
  template <class F>
  void serve(F body) {
    test::run_with({.max_procs = 2, .debug_socket = folder_.socket()}, [&] { blocking(body); });
  }
  [[nodiscard]] std::string ask(std::string_view request) const { return ask_once(folder_.socket(), request); }

  test::socket_folder folder_;
};

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(debug_requests, there_is_no_socket_unless_it_is_asked_for) {
  int const before = test::open_sockets();
  test::run_at(2, [&] { EXPECT_EQ(test::open_sockets(), before); });
}

TEST_F(debug_requests, about_names_the_protocol_and_the_process) {
  serve([&] {
    std::string const text = ask("about");
    EXPECT_TRUE(text.starts_with("ok ")) << text;
    EXPECT_TRUE(contains(text, "\nprotocol 1\npid " + std::to_string(::getpid()) + "\nuptime_ns ")) << text;
  });
}

TEST_F(debug_requests, help_names_each_request) {
  serve([&] {
    std::string const text = ask("help");
    for (char const* const request : {"about", "help", "stats", "goroutines N", "dump WORDS", "trace SECONDS"})
      EXPECT_TRUE(contains(text, std::string("\n") + request)) << request << " in " << text;
  });
}

TEST_F(debug_requests, stats_has_the_figures_of_the_run_and_of_each_p) {
  serve([&] {
    std::string const text = ask("stats");
    EXPECT_TRUE(contains(text, "\ngoroutines.waiting 0\n")) << text;
    EXPECT_TRUE(contains(text, "\nmax_procs 2\n")) << text;
    EXPECT_TRUE(contains(text, "\nprocs.1.steals ")) << text;
    EXPECT_TRUE(contains(text, "\nthreads.awake ")) << text;
    EXPECT_TRUE(contains(text, "\nready_to_run.p99_ns ")) << text;
    EXPECT_FALSE(contains(text, "\nprocs.2.")) << text;
  });
}

void wait_for(chan<int> const& never) { static_cast<void>(never.recv()); }

TEST_F(debug_requests, goroutines_are_grouped_by_state_and_place) {
  test::run_with({.max_procs = 2, .debug_socket = folder_.socket()}, [&] {
    chan<int> const never;
    wait_group all;
    for (int i = 0; i < 1000; ++i) all.go([&] { wait_for(never); });
    ASSERT_TRUE(test::wait_until([] { return read_stats().waiting == 1000; }));
    std::string const text = blocking([&] { return ask("goroutines 10"); });
    EXPECT_TRUE(contains(text, "\n1000\twaiting\tchan receive\t")) << text;
    std::string const one = blocking([&] { return ask("goroutines 1"); });
    EXPECT_TRUE(contains(one, "\n1\tother\t\t0\tin smaller groups\n")) << one;  // main
    never.close();
    all.wait();
  });
}

TEST_F(debug_requests, dumps_come_in_the_form_that_is_asked_for) {
  test::run_with({.max_procs = 2, .debug_socket = folder_.socket()}, [&] {
    chan<int> const never;
    wait_group all;
    for (int i = 0; i < 20; ++i) all.go([&] { wait_for(never); });
    ASSERT_TRUE(test::wait_until([] { return read_stats().waiting == 20; }));
    auto const dump = [&](std::string const& words) { return blocking([&] { return ask("dump" + words); }); };
    EXPECT_TRUE(contains(dump(" grouped"), "\n20 @ "));
    EXPECT_TRUE(contains(dump(" leaks"), "\n20 goroutines [chan receive"));
    EXPECT_TRUE(contains(dump(" each"), " [waiting: chan receive]:\n"));
    for (char const* const words : {" json", " grouped json", " leaks json"})
      EXPECT_TRUE(contains(dump(words), "\n{")) << words;
    never.close();
    all.wait();
  });
}

TEST_F(debug_requests, bad_requests_are_refused_and_the_connection_goes_on) {
  serve([&] {
    socket_client client(folder_.socket());
    for (std::string const request :
         {"", "dumpp", "DUMP", "dump now", "dump json now", " stats", "goroutines 0", "goroutines x", "goroutines -1",
          "goroutines 99999999999999999999", "trace", "trace 1x", "trace 0", "trace 1"}) {
      EXPECT_TRUE(client.ask(request).starts_with("error ")) << '"' << request << '"';
    }
    EXPECT_TRUE(client.ask(std::string("st\0ats", 6)).starts_with("error "));
    EXPECT_TRUE(client.ask("about\r").starts_with("ok "));
  });
}

TEST_F(debug_requests, a_descriptor_may_come_together_with_an_earlier_request) {
  serve([&] {
    socket_client client(folder_.socket());
    int const file = ::open((folder_.path() + "/recorded").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    client.send_with("about\ntrace 1\n", file);
    ::close(file);
    EXPECT_TRUE(client.answer().starts_with("ok "));
    std::string const traced = client.answer();
    EXPECT_TRUE(traced.starts_with("ok ")) << traced;
  });
}

TEST_F(debug_requests, a_request_that_is_too_long_ends_the_connection) {
  serve([&] {
    socket_client client(folder_.socket());
    client.send(std::string(100'000, 'x'));
    EXPECT_EQ(client.answer(), "error the request is too long\n");
    EXPECT_TRUE(client.is_closed());
    EXPECT_TRUE(ask("about").starts_with("ok "));
  });
}

TEST_F(debug_requests, a_connection_may_have_many_requests_also_at_once) {
  serve([&] {
    socket_client client(folder_.socket());
    client.send("about\nhelp\nab");
    client.send("out\nnothing\n");
    EXPECT_TRUE(contains(client.answer(), "protocol"));
    EXPECT_TRUE(contains(client.answer(), "help"));
    EXPECT_TRUE(contains(client.answer(), "protocol"));
    EXPECT_TRUE(client.answer().starts_with("error "));
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(client.ask("about").starts_with("ok "));
  });
}

TEST_F(debug_requests, a_client_that_sends_no_more_still_gets_its_answers) {
  serve([&] {
    socket_client client(folder_.socket());
    client.send("dump\nabout\nhal");
    client.send_no_more();
    EXPECT_TRUE(contains(client.answer(), "goroutine 1 "));
    EXPECT_TRUE(contains(client.answer(), "protocol"));
    EXPECT_TRUE(client.is_closed());
  });
}

TEST_F(debug_requests, clients_that_go_away_or_stop_halfway_do_not_hold_up_others) {
  serve([&] {
    int const before = test::open_sockets();
    std::vector<socket_client> half_open;
    for (int i = 0; i < 3; ++i) half_open.emplace_back(folder_.socket()).send("du");
    for (int i = 0; i < 50; ++i) {
      socket_client left(folder_.socket());
      left.send(i % 2 == 0 ? "dump\n" : "stat");
    }
    EXPECT_TRUE(test::wait_until([&] { return ask("about").starts_with("ok "); }));  // some may not be noticed yet
    for (socket_client& each : half_open) {
      each.send("mp\n");
      EXPECT_TRUE(contains(each.answer(), "goroutine 1 "));
    }
    half_open.clear();
    EXPECT_TRUE(test::wait_until([&] { return test::open_sockets() == before; }));
  });
}

TEST_F(debug_requests, there_are_eight_clients_at_most) {
  serve([&] {
    std::vector<socket_client> clients;
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(clients.emplace_back(folder_.socket()).ask("about").starts_with("ok "));
    socket_client ninth(folder_.socket());
    EXPECT_EQ(ninth.answer(), "error too many clients\n");
    EXPECT_TRUE(ninth.is_closed());
    clients.pop_back();
    EXPECT_TRUE(test::wait_until([&] { return ask("about").starts_with("ok "); }));
  });
}

TEST_F(debug_requests, a_client_that_takes_no_answers_is_not_sent_more_than_one) {
  serve([&] {
    socket_client greedy(folder_.socket());
    std::string many;
    for (int i = 0; i < 200; ++i) many += "help\nstats\n";  // their answers do not fit into the buffers of a socket
    greedy.send(many);
    EXPECT_TRUE(ask("stats").starts_with("ok "));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(greedy.answer().starts_with("ok "));
  });
}

}  // namespace
}  // namespace thrum
