// What the exceptions say: the call, its object, the system's words.
#include "support/run_at.h"
#include "support/sockets.h"
#include <thrum/thrum.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::string_literals;

template <class F>
std::string what_of(F call) {
  try {
    call();
  } catch (std::system_error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

std::string unused_port() { return tcp_listener::listen("127.0.0.1:0").local_endpoint().to_string(); }

TEST(error_text, names_the_address_that_was_dialled_or_listened_on) {
  test::run_at(2, [] {
    std::string const at = unused_port();
    std::string const refused = "thrum: dial tcp " + at + ": Connection refused";
    EXPECT_EQ(what_of([&] { static_cast<void>(tcp_conn::dial(at)); }), refused);
    EXPECT_EQ(what_of([&] { static_cast<void>(tcp_conn::dial(endpoint::parse(at))); }), refused);
    EXPECT_EQ(what_of([] { static_cast<void>(tcp_conn::dial("nowhere")); }),
              "thrum: dial tcp nowhere: Invalid argument");
    auto const listener = tcp_listener::listen("127.0.0.1:0");
    std::string const taken = listener.local_endpoint().to_string();
    EXPECT_EQ(what_of([&] { static_cast<void>(tcp_listener::listen(taken)); }),
              "thrum: listen tcp " + taken + ": Address already in use");
    auto const socket = udp_socket::bind("127.0.0.1:0");
    std::string const port = socket.local_endpoint().to_string();
    EXPECT_EQ(what_of([&] { static_cast<void>(udp_socket::bind(port)); }),
              "thrum: bind udp " + port + ": Address already in use");
    EXPECT_EQ(what_of([] { static_cast<void>(unix_conn::dial("/not/there.sock")); }),
              "thrum: dial unix /not/there.sock: No such file or directory");
    EXPECT_EQ(what_of([] { static_cast<void>(unix_listener::listen("/not/there.sock")); }),
              "thrum: listen unix /not/there.sock: No such file or directory");
    EXPECT_EQ(what_of([] { static_cast<void>(endpoint::parse("1.2.3:80")); }),
              "thrum: endpoint::parse 1.2.3:80: Invalid argument");
  });
}

TEST(error_text, names_the_file) {
  EXPECT_EQ(what_of([] { static_cast<void>(file::open("config.not.there")); }),
            "thrum: open config.not.there: No such file or directory");
  file folder = file::open("/tmp");
  std::array<char, 4> bytes{};
  EXPECT_EQ(what_of([&] { folder.read_some(bytes); }), "thrum: read_some /tmp: Is a directory");
  EXPECT_EQ(what_of([] { fd const none(-1); }), "thrum: fd: Bad file descriptor");
}

TEST(error_text, names_both_ends_of_a_connection) {
  test::run_at(2, [] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto client = tcp_conn::dial(listener.local_endpoint());
    std::string const ends = "tcp " + client.local_endpoint().to_string() + "->" + client.remote_endpoint().to_string();
    std::array<char, 4> bytes{};
    client.set_read_deadline(clock::now());
    EXPECT_EQ(what_of([&] { client.read_some(bytes); }), "thrum: read_some " + ends + ": Connection timed out");
    client.close();
    EXPECT_EQ(what_of([&] { client.read_some(bytes); }), "thrum: read_some: Operation canceled");
    listener.set_read_deadline(clock::now());
    EXPECT_EQ(what_of([&] { static_cast<void>(listener.accept()); }),
              "thrum: accept tcp " + listener.local_endpoint().to_string() + ": Connection timed out");
    auto pipe = test::pipe_pair();
    pipe.a.close();
    EXPECT_TRUE(what_of([&] { pipe.b.write_all("x"); }).starts_with("thrum: write_all pipe:["));
  });
}

TEST(error_text, names_the_program_and_the_host) {
  test::run_at(2, [] {
    EXPECT_EQ(what_of([] {
                static_cast<void>(process::start({"/not/there", "x"}));
              }),
              "thrum: start /not/there: No such file or directory");
    EXPECT_EQ(what_of([] { static_cast<void>(output({"/not/there"})); }),
              "thrum: output /not/there: No such file or directory");
    EXPECT_TRUE(what_of([] {
                  static_cast<void>(resolve("not.there.invalid"));
                }).starts_with("thrum: resolve not.there.invalid: "));
  });
}

TEST(error_text, shows_bytes_that_are_no_text_as_numbers) {
  EXPECT_EQ(what_of([] { static_cast<void>(file::open("a\nb\0c"s)); }), "thrum: open a\\x0ab\\x00c: Invalid argument");
}

// An end in the middle of what was asked for.
TEST(read_full, of_fewer_bytes_than_were_asked_for_is_an_error_and_none_is_the_end) {
  test::run_at(2, [] {
    auto ab = test::socket_pair();
    ab.b.write_all("12345678abc");
    ab.b.close();
    std::array<char, 8> bytes{};
    EXPECT_EQ(ab.a.read_full(bytes), 8U);
    std::error_code error;
    EXPECT_EQ(ab.a.read_full(bytes, error), 3U);
    EXPECT_EQ(error, io_errc::unexpected_end) << error.message();
    EXPECT_EQ(ab.a.read_full(bytes, error), 0U);
    EXPECT_FALSE(error) << error.message();
    auto other = test::socket_pair();
    other.b.write_all("abc");
    other.b.close();
    EXPECT_THROW(static_cast<void>(other.a.read_full(bytes)), std::system_error);
    EXPECT_EQ(other.a.read_full(bytes), 0U);
  });
}

}  // namespace
}  // namespace thrum
