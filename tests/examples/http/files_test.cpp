// example_http: /file/ serves what is below its directory, whole and in parts, and nothing else.
#include "examples/http/client.h"

#include <fstream>

#include <sys/stat.h>

namespace {

namespace fs = std::filesystem;
using thrum::test::http_answer;
using thrum::test::http_client;

class http_files : public thrum::test::http_server {
 protected:
  void SetUp() override {
    http_server::SetUp();
    if (IsSkipped()) return;
    std::string pattern = testing::TempDir() + "thrum_http_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
    fs::create_directories(top_ / "root/sub");
    write(top_ / "secret.txt", "secret");
    write(top_ / "root/letters.txt", "abcdefghij");
    write(top_ / "root/empty", "");
    write(top_ / "root/sub/with blank & ü.html", "<p>");
    fs::create_symlink(top_ / "secret.txt", top_ / "root/link");
    fs::create_directory_symlink(top_, top_ / "root/up");
    ::mkfifo((top_ / "root/pipe").c_str(), 0600);
    start({"--root", (top_ / "root").string()});
  }
  void TearDown() override {
    if (!top_.empty()) fs::remove_all(top_);
  }
  static void write(fs::path const& path, std::string const& text) { std::ofstream(path) << text; }

  fs::path top_;
};

TEST_F(http_files, are_served_with_their_type) {
  http_client client = connect();
  http_answer const letters = client.ask(get("/file/letters.txt"));
  EXPECT_EQ(letters.status, 200);
  EXPECT_EQ(letters.body, "abcdefghij");
  EXPECT_EQ(letters.header("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(letters.header("Accept-Ranges"), "bytes");
  EXPECT_EQ(client.ask(get("/file/empty")).status, 200);
  http_answer const decoded = client.ask(get("/file/./sub//with%20blank%20%26%20%c3%BC.html?a=b"));
  EXPECT_EQ(decoded.body, "<p>");
  EXPECT_EQ(decoded.header("Content-Type"), "text/html; charset=utf-8");
  http_answer const head =
      client.ask("HEAD /file/letters.txt HTTP/1.1\r\nHost: a\r\n\r\n", http_client::body::left_out);
  EXPECT_EQ(head.header("Content-Length"), "10");
  EXPECT_EQ(client.ask(get("/file/letters.txt") + get("/file/empty") + get("/plaintext")).body, "abcdefghij");
  EXPECT_EQ(client.receive().body, "");
  EXPECT_EQ(client.receive().body, "Hello, World!");
}

TEST_F(http_files, of_many_pages_come_whole) {
  std::string text(5 * 1000 * 1000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * i % 23);
  write(top_ / "root/large", text);
  http_client client = connect();
  EXPECT_TRUE(client.ask(get("/file/large")).body == text);
  EXPECT_EQ(client.ask(get("/plaintext")).status, 200);
}

TEST_F(http_files, that_are_not_there_or_not_below_are_not_served) {
  struct {
    char const* path;
    int status;
  } const table[] = {
      {"/file/nothing", 404},
      {"/file/nothing/more", 404},
      {"/file/letters.txt/more", 404},
      {"/file/", 403},
      {"/file/sub", 403},
      {"/file/pipe", 403},
      {"/file/../secret.txt", 403},
      {"/file/sub/../../secret.txt", 403},
      {"/file/%2e%2e/secret.txt", 403},
      {"/file/.%2E/secret.txt", 403},
      {"/file/..%2fsecret.txt", 400},
      {"/file/%2e%2e%2Fsecret.txt", 400},
      {"/file/link", 403},
      {"/file/up/secret.txt", 404},
      {"/file//secret.txt", 404},
      {"/file/%", 400},
      {"/file/%4", 400},
      {"/file/%zz", 400},
      {"/file/letters.txt%00.png", 400},
      {"/file", 404},
  };
  http_client client = connect();
  for (auto const& [path, status] : table) {
    http_answer const answer = client.ask(get(path));
    EXPECT_EQ(answer.status, status) << path;
    EXPECT_EQ(answer.body.find("secret"), std::string::npos) << path;
  }
  EXPECT_EQ(client.ask(get("/file/" + std::string(300, 'x'))).status, 404);
}

TEST_F(http_files, can_be_asked_for_a_part) {
  struct {
    char const* range;
    int status;
    char const* body;
    char const* content_range;
  } const table[] = {
      {"bytes=0-3", 206, "abcd", "bytes 0-3/10"},
      {"bytes=4-", 206, "efghij", "bytes 4-9/10"},
      {"bytes=-3", 206, "hij", "bytes 7-9/10"},
      {"bytes=9-9", 206, "j", "bytes 9-9/10"},
      {"bytes=5-1000", 206, "fghij", "bytes 5-9/10"},
      {"bytes=-1000", 206, "abcdefghij", "bytes 0-9/10"},
      {"bytes=5-18446744073709551615", 206, "fghij", "bytes 5-9/10"},
      {"bytes=10-", 416, nullptr, "bytes */10"},
      {"bytes=-0", 416, nullptr, "bytes */10"},
      {"bytes=4-2", 200, "abcdefghij", nullptr},
      {"bytes=0-1,4-5", 200, "abcdefghij", nullptr},
      {"bytes=x", 200, "abcdefghij", nullptr},
      {"lines=0-1", 200, "abcdefghij", nullptr},
      {"bytes=-", 200, "abcdefghij", nullptr},
  };
  http_client client = connect();
  for (auto const& [range, status, body, content_range] : table) {
    http_answer const answer = client.ask(get("/file/letters.txt", "Range: " + std::string(range) + "\r\n"));
    EXPECT_EQ(answer.status, status) << range;
    if (body != nullptr) {
      EXPECT_EQ(answer.body, body) << range;
    }
    EXPECT_EQ(answer.header("Content-Range").value_or(""), content_range == nullptr ? "" : content_range) << range;
  }
  EXPECT_EQ(client.ask(get("/file/letters.txt", "Range: bytes=0-3\r\nIf-Range: \"x\"\r\n")).status, 200);
  EXPECT_EQ(client.ask(get("/file/empty", "Range: bytes=0-3\r\n")).status, 416);
}

}  // namespace
