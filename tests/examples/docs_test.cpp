// The code of docs/network.md and docs/files_and_processes.md, extracted by tools/code_of_document, does what the
// documents say.
#include "base/platform.h"
#include "support/run_at.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

using namespace std::chrono_literals;
#include "code/files_and_processes.h"
#include "code/network.h"

namespace thrum::test {
namespace {

class documents : public at_every_width {};

struct tcp_pair {
  tcp_conn here;
  tcp_conn there;
};

tcp_pair connected_pair() {
  auto listener = tcp_listener::listen("127.0.0.1:0");
  auto here = tcp_conn::dial(listener.local_endpoint());
  return {std::move(here), listener.accept()};
}

std::string read_to_end(fd& from) {
  std::string all;
  std::array<char, 4096> bytes{};
  while (auto const n = from.read_some(bytes)) all.append(bytes.data(), n);
  return all;
}

// Removed at the end.
class short_lived_file {
 public:
  short_lived_file() {
    int const made = ::mkstemp(path_.data());
    EXPECT_GE(made, 0);
    ::close(made);
  }
  ~short_lived_file() { std::filesystem::remove(path_); }
  short_lived_file(short_lived_file const&) = delete;
  short_lived_file& operator=(short_lived_file const&) = delete;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  [[nodiscard]] std::string text() const {
    auto in = file::open(path_);
    std::string all(in.size(), '\0');
    EXPECT_EQ(in.read_at(all, 0), all.size());
    return all;
  }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "thrum_docs_XXXXXX").string();
};

TEST_P(documents, a_server_and_a_client) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto served = spawn([&] { serve(listener); });
    EXPECT_EQ(ask(listener.local_endpoint().to_string(), "hello"), "hello");
    listener.close();
    served.join();
  });
}

TEST_P(documents, a_limit_for_each_message) {
  run([] {
    auto ends = connected_pair();
    std::array<char, 64> message{};
    EXPECT_FALSE(next_message(ends.here, message, 1ms));
    std::string complaint(9, '\0');
    EXPECT_EQ(ends.there.read_full(complaint), complaint.size());
    EXPECT_EQ(complaint, "too slow\n");
    ends.there.write_all(std::string(message.size(), 'x'));
    EXPECT_TRUE(next_message(ends.here, message, 1min));
    ends.there.close();
    EXPECT_FALSE(next_message(ends.here, message, 1min));
  });
}

TEST_P(documents, parts_and_a_file) {
  run([] {
    short_lived_file const page;
    note_down(page.path(), "a page");
    auto ends = connected_pair();
    answer_with_file(ends.here, file::open(page.path()));
    ends.here.close();
    EXPECT_EQ(read_to_end(ends.there), "HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\na page");
  });
}

TEST_P(documents, datagrams) {
  run([] {
    auto server = udp_socket::bind("127.0.0.1:0");
    auto served = spawn([&] { answer_datagrams(server); });
    auto client = udp_socket::connect(server.local_endpoint().to_string());
    client.set_deadline(30s);
    for (std::string const said : {"one", "two"}) {
      client.write_all(said);
      std::string heard(16, '\0');
      heard.resize(client.read_some(heard));
      EXPECT_EQ(heard, said);
    }
    server.close();
    served.join();
  });
}

TEST_P(documents, a_library_that_reads_by_itself) {
  run([] {
    int ends[2]{};
    ASSERT_EQ(::pipe(ends), 0);
    auto writer = spawn([&] { fd(ends[1]).write_all("x"); });
    static char byte;
    byte = 0;
    call_when_readable(ends[0], [](int descriptor) { EXPECT_EQ(::read(descriptor, &byte, 1), 1); });
    EXPECT_EQ(byte, 'x');
    writer.join();
  });
}

TEST_P(documents, a_context_that_ends_a_read) {
  run([] {
    auto ends = connected_pair();
    auto const shared = std::make_shared<tcp_conn>(std::move(ends.here));
    auto [ctx, cancel] = with_cancel(context::background());
    std::array<char, 16> bytes{};
    std::error_code error;
    ends.there.write_all("hello");
    EXPECT_EQ(read_unless_done(ctx, shared, bytes, error), 5U);
    EXPECT_FALSE(error);
    auto canceler = spawn([end = cancel] { end(); });
    EXPECT_EQ(read_unless_done(ctx, shared, bytes, error), 0U);
    EXPECT_EQ(error, std::errc::operation_canceled);
    canceler.join();
  });
}

TEST_P(documents, files_that_are_written_and_read) {
  run([] {
    short_lived_file const log;
    for (int i = 0; i < 3; ++i) note_down(log.path(), "a line\n");
    EXPECT_EQ(log.text(), "a line\na line\na line\n");
    note_down(log.path(), std::string(3'000'000, '\n'));  // more than one part
    auto in = file::open(log.path());
    EXPECT_EQ(count_lines(in), 3'000'003U);
  });
}

TEST_P(documents, other_programs) {
  run([] {
    utsname machine{};
    ASSERT_EQ(::uname(&machine), 0);
    EXPECT_EQ(release_of_kernel(context::background()), std::string(machine.release) + "\n");
    EXPECT_EQ(sorted("10\n9\n8\n"), "8\n9\n10\n");
    short_lived_file const output;
    auto const log = file::open(output.path(), open_for::write);
    EXPECT_EQ(look_after({"sh", "-c", "echo $LC_ALL; echo no >&2; exit 3"}, log, 1min), 3);
    EXPECT_EQ(output.text(), "C\nno\n");
    EXPECT_EQ(look_after({"sleep", "1000"}, log, 1ms), 128 + SIGTERM);
  });
}

TEST_P(documents, signals_that_end_a_server) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer keeps a signal back while its thread sleeps";
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    serve_until_told(listener, [](tcp_listener& served) {
      EXPECT_EQ(::kill(::getpid(), SIGTERM), 0);
      serve(served);
    });
    EXPECT_FALSE(listener.is_open());
    struct sigaction now {};
    ASSERT_EQ(::sigaction(SIGTERM, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
  });
}

THRUM_AT_EVERY_WIDTH(documents);

}  // namespace
}  // namespace thrum::test
