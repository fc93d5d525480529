// The file of the debug socket: where it is, who may connect to it, and when it goes away.
#include "boot/debug_socket.h"
#include "debug_socket/socket_client.h"
#include "os/private_socket.h"
#include "runs/in_child.h"
#include "support/fatal.h"
#include "support/leak_checks.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include "support/with_environment.h"
#include <thrum/thrum.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace thrum {
namespace {

using test::ask_once;
using test::socket_client;

unsigned mode_of(std::string const& path) {
  struct stat is {};
  return ::lstat(path.c_str(), &is) == 0 ? is.st_mode & 07777U : 0;
}

bool exists(std::string const& path) { return std::filesystem::exists(std::filesystem::symlink_status(path)); }

// A socket to which no process listens.
void leave_stale_socket_at(std::string const& path) {
  int const listener = rt::os::listen_privately(path.c_str(), 1);
  ASSERT_GE(listener, 0);
  ::close(listener);
}

class debug_socket_file : public testing::Test {
 protected:
  template <class F>
  void serve(F body) const {
    test::run_with({.max_procs = 2, .debug_socket = folder_.socket()}, [&] { blocking(body); });
  }
  // Runs a program with the socket in a child, which is expected to end in some way, and returns its exit code.
  template <class F>
  int serve_in_child(F body) const {
    return in_child([&] {
      ::freopen("/dev/null", "w", stderr);
      rlimit const no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      run(body, {.max_procs = 2, .debug_socket = folder_.socket()});
      return 0;
    });
  }

  test::socket_folder folder_;
};

TEST_F(debug_socket_file, is_for_its_user_alone_whatever_the_umask_is) {
  mode_t const before = ::umask(0);
  serve([&] { EXPECT_EQ(mode_of(folder_.socket()), 0600U); });
  ::umask(before);
}

TEST_F(debug_socket_file, exists_as_long_as_the_run_also_in_a_second_run) {
  for (int i = 0; i < 3; ++i) {
    serve([&] { EXPECT_TRUE(ask_once(folder_.socket(), "about").starts_with("ok ")); });
    EXPECT_FALSE(exists(folder_.socket()));
  }
}

TEST_F(debug_socket_file, an_embedded_runtime_serves_it_too) {
  {
    runtime const embedded({.debug_socket = folder_.socket()});
    EXPECT_TRUE(ask_once(folder_.socket(), "dump").starts_with("ok "));
  }
  EXPECT_FALSE(exists(folder_.socket()));
}

TEST_F(debug_socket_file, a_relative_path_is_meant_from_where_the_program_began) {
  std::filesystem::path const before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  test::run_with({.debug_socket = "./s"}, [&] {
    std::filesystem::current_path("/");
    EXPECT_TRUE(blocking([&] { return ask_once(folder_.socket(), "about"); }).starts_with("ok "));
  });
  std::filesystem::current_path(before);
  EXPECT_FALSE(exists(folder_.socket()));
}

TEST_F(debug_socket_file, replaces_a_socket_to_which_no_process_listens) {
  leave_stale_socket_at(folder_.socket());
  serve([&] { EXPECT_TRUE(ask_once(folder_.socket(), "about").starts_with("ok ")); });
}

TEST_F(debug_socket_file, does_not_replace_one_that_is_served_nor_another_file) {
  int const other = rt::os::listen_privately(folder_.socket().c_str(), 1);
  ASSERT_GE(other, 0);
  EXPECT_THROW(serve([] {}), std::system_error);
  ::close(other);
  std::filesystem::remove(folder_.socket());
  std::ofstream(folder_.socket()) << "precious";
  EXPECT_THROW(serve([] {}), std::system_error);
  EXPECT_EQ(std::filesystem::file_size(folder_.socket()), 8U);
}

TEST_F(debug_socket_file, that_was_replaced_meanwhile_is_left_alone) {
  serve([&] {
    std::filesystem::remove(folder_.socket());
    leave_stale_socket_at(folder_.socket());
  });
  EXPECT_TRUE(exists(folder_.socket()));
}

TEST_F(debug_socket_file, bad_paths_are_refused) {
  auto const start = [](std::string const& path) { test::run_with({.debug_socket = path}, [] {}); };
  EXPECT_THROW(start("name"), std::invalid_argument);
  EXPECT_THROW(start(folder_.path() + "/none/s"), std::system_error);
}

// Starts a run with this path. Returns the error, or an empty one if there was none.
std::system_error error_of(std::string const& path) {
  try {
    test::run_with({.debug_socket = path}, [] {});
  } catch (std::system_error const& error) {
    return error;
  }
  return std::system_error(std::error_code());
}

TEST_F(debug_socket_file, a_path_that_is_too_long_is_an_error_that_says_so) {
  std::string const folder = folder_.path() + '/';
  std::size_t const longest = rt::os::socket_path_max - 1;
  EXPECT_EQ(error_of(folder + std::string(longest - folder.size(), 's')).code().value(), 0);
  for (std::size_t const length : {longest + 1, longest + 100, 4 * longest}) {
    std::system_error const error = error_of(folder + std::string(length - folder.size(), 's'));
    EXPECT_EQ(error.code().value(), EINVAL);
    EXPECT_NE(std::string(error.what()).find("at most 107 bytes, and this one has " + std::to_string(length)),
              std::string::npos)
        << error.what();
  }
  for (auto const& left : std::filesystem::directory_iterator(folder)) ADD_FAILURE() << left.path();
}

TEST_F(debug_socket_file, a_path_with_a_NUL_character_is_an_error_that_says_so) {
  using namespace std::string_literals;
  for (std::string const& rest : {"\0"s, "\0x"s, "\0"s + std::string(4096, 'x')}) {
    std::system_error const error = error_of(folder_.socket() + rest);
    EXPECT_EQ(error.code().value(), EINVAL);
    EXPECT_NE(std::string(error.what()).find("contains a NUL character"), std::string::npos) << error.what();
    EXPECT_FALSE(exists(folder_.socket()));
  }
}

// --- the default path ---

class default_debug_socket : public debug_socket_file {
 protected:
  test::with_environment const own_folder_{"XDG_RUNTIME_DIR", folder_.path()};
};

TEST_F(default_debug_socket, is_in_a_directory_for_its_user_alone) {
  std::string const path = rt::default_socket_path();
  EXPECT_EQ(path, folder_.path() + "/thrum/" + std::to_string(::getpid()) + ".sock");
  test::run_with({.debug_socket = "default"}, [&] {
    EXPECT_EQ(mode_of(folder_.path() + "/thrum"), 0700U);
    EXPECT_EQ(mode_of(path), 0600U);
    EXPECT_TRUE(blocking([&] { return ask_once(path, "about"); }).starts_with("ok "));
  });
  EXPECT_FALSE(exists(path));
}

TEST_F(default_debug_socket, is_in_tmp_without_xdg_runtime_dir) {
  test::with_environment const none("XDG_RUNTIME_DIR", std::nullopt);
  std::string const folder = "/tmp/thrum-" + std::to_string(::geteuid()) + '/';
  EXPECT_EQ(rt::default_socket_path(), folder + std::to_string(::getpid()) + ".sock");
}

TEST_F(default_debug_socket, is_switched_by_the_environment) {
  std::string const path = rt::default_socket_path();
  {
    test::with_debug const on("socket=1");
    test::run_at(1, [&] { EXPECT_TRUE(exists(path)); });
  }
  test::with_debug const off("socket=0");
  test::run_with({.debug_socket = "default"}, [&] { EXPECT_FALSE(exists(path)); });
}

TEST_F(default_debug_socket, a_program_starts_also_if_the_socket_of_the_environment_cannot_be_had) {
  std::ofstream(folder_.path() + "/thrum") << "in the way";
  test::with_debug const on("socket=1");
  bool has_run = false;
  test::run_at(1, [&] { has_run = true; });
  EXPECT_TRUE(has_run);
  EXPECT_THROW(test::run_with({.debug_socket = "default"}, [] {}), std::system_error);
}

TEST_F(default_debug_socket, a_directory_of_another_user_or_a_link_is_refused) {
  std::string const directory = folder_.path() + "/thrum";
  std::filesystem::create_directory(folder_.path() + "/elsewhere");
  std::filesystem::create_directory_symlink(folder_.path() + "/elsewhere", directory);
  EXPECT_THROW(test::run_with({.debug_socket = "default"}, [] {}), std::system_error);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a directory of another user";
  std::filesystem::remove(directory);
  std::filesystem::create_directory(directory);
  ASSERT_EQ(::chown(directory.c_str(), 4711, 4711), 0);
  EXPECT_THROW(test::run_with({.debug_socket = "default"}, [] {}), std::system_error);
}

TEST_F(default_debug_socket, sockets_of_processes_that_are_gone_are_removed) {
  std::string const directory = folder_.path() + "/thrum";
  std::filesystem::create_directory(directory);
  pid_t const gone = fork_with_a_limit();
  if (gone == 0) ::_exit(0);
  ASSERT_EQ(exit_code_of(gone), 0);
  std::string const stale = directory + '/' + std::to_string(gone) + ".sock";
  std::string const of_init = directory + "/1.sock";
  std::string const other = directory + "/other.sock";
  for (std::string const& path : {stale, of_init, other}) leave_stale_socket_at(path);
  test::run_with({.debug_socket = "default"}, [] {});
  EXPECT_FALSE(exists(stale));
  EXPECT_TRUE(exists(of_init)) << "the process exists";
  EXPECT_TRUE(exists(other)) << "its name is no process id";
}

// --- strangers ---

TEST_F(debug_socket_file, refuses_a_process_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  serve([&] {
    auto const stranger_gets = [&](std::string const& text) {
      return in_child([&] {
        if (::setgid(4711) != 0 || ::setuid(4711) != 0) return 1;
        socket_client client(folder_.socket());
        if (text.empty()) return client.error() == EACCES ? as_expected : 2;
        client.send("about\n");
        return client.answer() == text && client.is_closed() ? as_expected : 3;
      });
    };
    EXPECT_EQ(stranger_gets(""), as_expected) << "the mode of the file keeps it out";
    std::filesystem::permissions(folder_.socket(), std::filesystem::perms::all);
    EXPECT_EQ(stranger_gets("error only the user of this process and root may ask\n"), as_expected);
    EXPECT_TRUE(ask_once(folder_.socket(), "about").starts_with("ok "));
  });
}

TEST_F(debug_socket_file, takes_root_as_a_client_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  pid_t const child = fork_with_a_limit();
  if (child == 0) {
    if (::setgid(4711) != 0 || ::setuid(4711) != 0) ::_exit(1);
    run([] { sleep_for(std::chrono::minutes(1)); }, {.debug_socket = folder_.socket()});
    ::_exit(0);
  }
  EXPECT_TRUE(test::wait_until([&] { return exists(folder_.socket()); }));
  EXPECT_TRUE(ask_once(folder_.socket(), "dump").starts_with("ok "));
  ::kill(child, SIGKILL);
  static_cast<void>(exit_code_of(child));
}

// --- the end of the program ---

TEST_F(debug_socket_file, is_removed_by_exit_on_a_goroutine) {
  EXPECT_EQ(serve_in_child([] {
              test::do_not_look_for_leaks();
              std::exit(3);
            }),
            3);
  EXPECT_FALSE(exists(folder_.socket()));
}

TEST_F(debug_socket_file, is_removed_by_exit_on_a_thread_from_outside) {
  EXPECT_EQ(serve_in_child([] {
              std::thread([] { std::exit(3); }).detach();
              sleep_for(std::chrono::minutes(1));
            }),
            3);
  EXPECT_FALSE(exists(folder_.socket()));
}

TEST_F(debug_socket_file, is_removed_by_a_panic) {
  EXPECT_EQ(serve_in_child([] {
              go([] { throw std::runtime_error("panic"); });
              sleep_for(std::chrono::minutes(1));
            }),
            2);
  EXPECT_FALSE(exists(folder_.socket()));
}

TEST_F(debug_socket_file, is_removed_by_a_crash_that_is_reported) {
  EXPECT_EQ(serve_in_child([] { std::abort(); }), -SIGABRT);
  EXPECT_FALSE(exists(folder_.socket()));
}

TEST_F(debug_socket_file, is_removed_after_a_deadlock_which_a_client_does_not_hide) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_EQ(serve_in_child([&] {
              static socket_client* const client = new socket_client(folder_.socket());
              client->send("about\nabo");  // it stays connected
              static_cast<void>(chan<int>().recv());
            }),
            2);
  EXPECT_FALSE(exists(folder_.socket()));
}

TEST_F(debug_socket_file, of_a_program_that_was_killed_is_replaced_by_its_next_start) {
  EXPECT_EQ(serve_in_child([] { ::kill(::getpid(), SIGKILL); }), -SIGKILL);
  EXPECT_TRUE(exists(folder_.socket()));
  serve([&] { EXPECT_TRUE(ask_once(folder_.socket(), "about").starts_with("ok ")); });
  EXPECT_FALSE(exists(folder_.socket()));
}

}  // namespace
}  // namespace thrum
