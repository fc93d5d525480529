// A server on cpp-httplib, as it is: the connections are a thread pool's, or goroutines.
#pragma once

#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>

namespace thrum::test {

// What a program has to write.
class goroutine_queue : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override { tasks_.go(std::move(task)); }
  void shutdown() override { tasks_.wait(); }

 private:
  wait_group tasks_;
};

// Its own five seconds pass on a busy machine.
inline constexpr int patience_s = 60;

template <class ServerOrClient>
void be_patient(ServerOrClient& it) {
  it.set_read_timeout(patience_s);
  it.set_write_timeout(patience_s);
}

class web {
 public:
  explicit web(std::function<httplib::TaskQueue*()> new_queue) {
    it_.new_task_queue = std::move(new_queue);
    it_.set_keep_alive_max_count(1'000'000);
    it_.set_keep_alive_timeout(patience_s);
    be_patient(it_);
    int listener = -1;
    it_.set_socket_options([&](int fd) { listener = fd; });
    add_handlers();
    port_ = it_.bind_to_any_port("127.0.0.1");
    EXPECT_GT(port_, 0);
    // The library listens with a backlog of five, and a client that finds the backlog full tries once more after a
    // second.
    EXPECT_EQ(::listen(listener, 1024), 0);
  }
  // Until it is stopped.
  void serve() { EXPECT_TRUE(it_.listen_after_bind()); }
  void stop() { it_.stop(); }
  // From now on the slow page is answered only after so many requests for it have been served at a time.
  void be_slow_until(int at_once) { slow_until_ = at_once; }
  [[nodiscard]] int slow_at_once() const {
    return slow_at_once_;
  }                                                         // most requests of that page that were served at a time
  [[nodiscard]] int slow_now() const { return slow_now_; }  // requests of that page that are served at present
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  using request = httplib::Request const&;
  using response = httplib::Response&;

  void add_handlers() {
    it_.Get("/hello", [](request, response answer) { answer.set_content("Hello, World!", "text/plain"); });
    it_.Get(R"(/number/(\d+))", [](request asked, response answer) {
      answer.set_content("number " + asked.matches[1].str(), "text/plain");
    });
    it_.Get("/slow", [this](request, response answer) {
      int const now = ++slow_now_;
      for (int most = slow_at_once_; most < now && !slow_at_once_.compare_exchange_weak(most, now);) {
      }
      do {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      } while (slow_at_once_ < slow_until_);
      --slow_now_;
      answer.set_content("slow", "text/plain");
    });
    it_.Get("/long", [](request, response answer) { answer.set_content(std::string(2'000'000, 'l'), "text/plain"); });
    it_.Get("/chunks", [](request, response answer) {
      answer.set_chunked_content_provider("text/plain", [](std::size_t offset, httplib::DataSink& sink) {
        std::string const part = "chunk after " + std::to_string(offset) + "\n";
        sink.write(part.data(), part.size());
        if (offset > 20'000) sink.done();
        return true;
      });
    });
    it_.Get("/throws", [](request, response) { throw std::runtime_error("by the handler"); });
    it_.Post("/echo", [](request asked, response answer) { answer.set_content(asked.body, "text/plain"); });
  }

  httplib::Server it_;
  int port_ = 0;
  std::atomic<int> slow_now_{0};
  std::atomic<int> slow_at_once_{0};
  std::atomic<int> slow_until_{0};
};

}  // namespace thrum::test
