// A NUL byte in a name, an address or a path is an error: the system would read up to it, and mean another name.
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr std::string_view address = "127.0.0.1\0.example.com:80"sv;

void expect_refused(std::error_code const& error, char const* call) {
  EXPECT_EQ(error, std::errc::invalid_argument) << call << ": " << error.message();
}

TEST(nul, is_refused_in_addresses) {
  std::error_code error;
  static_cast<void>(endpoint::parse(address, error));
  expect_refused(error, "parse");
  static_cast<void>(endpoint::parse("[::1\0]:80"sv, error));
  expect_refused(error, "parse v6");
  static_cast<void>(endpoint::parse("[fe80::1%1\0]:80"sv, error));
  expect_refused(error, "parse zone");
  test::run_at(2, [&] {
    static_cast<void>(tcp_conn::dial(address, error));
    expect_refused(error, "dial");
    static_cast<void>(tcp_listener::listen("127.0.0.1\0.example.com:0"sv, {}, error));
    expect_refused(error, "listen");
    static_cast<void>(udp_socket::bind("127.0.0.1\0.example.com:0"sv, error));
    expect_refused(error, "bind");
    static_cast<void>(udp_socket::connect(address, error));
    expect_refused(error, "connect");
    EXPECT_THROW(static_cast<void>(tcp_conn::dial(address)), std::system_error);
  });
}

TEST(nul, is_refused_in_names_whichever_way_they_are_looked_up) {
  std::error_code error;
  static_cast<void>(resolve("localhost\0.example.com"sv, 80, error));  // no run: the C library
  expect_refused(error, "resolve by the C library");
  test::run_at(2, [&] {
    static_cast<void>(resolve("localhost\0.example.com"sv, 80, error));
    expect_refused(error, "resolve");
    static_cast<void>(tcp_conn::dial("localhost\0.example.com:80"sv, error));
    expect_refused(error, "dial");
  });
}

TEST(nul, is_refused_in_paths_of_files) {
  std::error_code error;
  static_cast<void>(file::open("/etc/passwd\0.png"s, open_for::read, 0, error));
  expect_refused(error, "read");
  std::string const path =
      (std::filesystem::temp_directory_path() / "thrum_nul_test").string() + std::to_string(::getpid());
  for (open_for const what : {open_for::write, open_for::append, open_for::update, open_for::exclusive}) {
    static_cast<void>(file::open(path + "\0.png"s, what, 0600, error));
    expect_refused(error, "open");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(nul, is_refused_in_paths_of_sockets) {
  std::string const path =
      (std::filesystem::temp_directory_path() / "thrum_nul_socket").string() + std::to_string(::getpid());
  std::string const longer = path + "\0.png"s;
  std::error_code error;
  static_cast<void>(endpoint::unix_path(longer, error));
  expect_refused(error, "unix_path");
  test::run_at(2, [&] {
    static_cast<void>(unix_listener::listen(longer, unix_type::stream, error));
    expect_refused(error, "listen");
    static_cast<void>(unix_conn::dial(longer, unix_type::stream, unix_conn::no_timeout, error));
    expect_refused(error, "dial");
    static_cast<void>(unix_datagram::bind(longer, error));
    expect_refused(error, "bind");
  });
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(nul, is_a_byte_as_any_other_in_abstract_names_and_may_begin_them) {
  test::run_at(2, [] {
    std::string const rest = "thrum_nul_" + std::to_string(::getpid()) + "\0x"s;
    auto listener = unix_listener::listen("\0"s + rest);
    EXPECT_EQ(listener.local_endpoint(), endpoint::unix_path("@" + rest));
    auto conn = unix_conn::dial("@" + rest);
    EXPECT_TRUE(conn.is_open());
    std::error_code error;
    static_cast<void>(
        unix_conn::dial("@" + rest.substr(0, rest.find('\0')), unix_type::stream, unix_conn::no_timeout, error));
    EXPECT_EQ(error, std::errc::connection_refused);  // another name
  });
}

TEST(nul, is_refused_in_everything_that_a_program_is_started_with) {
  test::run_at(2, [] {
    std::error_code error;
    static_cast<void>(process::start({"true\0x"s}, {}, error));
    expect_refused(error, "program");
    static_cast<void>(process::start({"true", "a\0b"s}, {}, error));
    expect_refused(error, "argument");
    static_cast<void>(process::start({"true"}, {.directory = "/\0x"s}, error));
    expect_refused(error, "directory");
    static_cast<void>(process::start({"true"}, {.environment = {{"A=b\0c"s}}}, error));
    expect_refused(error, "environment");
    static_cast<void>(process::start({"true"}, {.extra_environment = {"A=b\0c"s}}, error));
    expect_refused(error, "extra environment");
  });
}

}  // namespace
}  // namespace thrum
