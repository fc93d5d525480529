// A program to look into with `thrum top`: 100,000 goroutines that wait, and some that work.
//
//   THRUM_DEBUG=socket=1 example_crowd [goroutines]
//
// Every 100 ms it prints the time in ns and how many messages two goroutines have sent to each other since it began,
// until SIGTERM comes.
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace std::chrono_literals;

void wait_for_work(thrum::chan<int> const& work) { static_cast<void>(work.recv()); }

void beat_like_a_heart() {
  for (;;) thrum::sleep_for(1s);
}

void play_ping_pong(std::atomic<std::uint64_t>& messages) {
  thrum::chan<int> const ping, pong;
  thrum::go([=] {
    while (auto const ball = ping.recv()) pong.send(*ball);
  });
  for (int i = 0;; ++i) {
    ping.send(i);
    static_cast<void>(pong.recv());
    messages += 2;
  }
}

void be_a_crowd(int goroutines) {
  auto const stop = thrum::signals(SIGINT, SIGTERM);
  thrum::chan<int> const work;
  std::atomic<std::uint64_t> messages{0};
  for (int i = 0; i < goroutines / 100; ++i) thrum::go(beat_like_a_heart);
  for (int i = goroutines / 100; i < goroutines; ++i) thrum::go([&work] { wait_for_work(work); });
  thrum::go([&messages] { play_ping_pong(messages); });
  thrum::go([&messages] {
    for (;;) {
      thrum::sleep_for(100ms);
      auto const now = std::chrono::steady_clock::now().time_since_epoch() / 1ns;
      std::printf("%lld %llu\n", static_cast<long long>(now), static_cast<unsigned long long>(messages.load()));
      std::fflush(stdout);
    }
  });
  static_cast<void>(stop.recv());
}

}  // namespace

int main(int argc, char** argv) {
  thrum::run([&] { be_a_crowd(argc > 1 ? std::atoi(argv[1]) : 100'000); });
}
