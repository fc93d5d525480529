// A rate limiter. A goroutine puts a permit into a channel with every tick, and each action takes one permit. The
// channel saves unused permits up to its capacity, so that many actions may come in a burst.
#include <thrum/thrum.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <variant>

using namespace std::chrono_literals;

namespace {

class rate_limiter {
 public:
  rate_limiter(std::chrono::milliseconds every, std::size_t burst) : permits_(burst) {
    for (std::size_t i = 0; i < burst; ++i) permits_.send({});
    filler_.go([this, every] {
      thrum::ticker const tick(every);
      // if the channel is full, the permit is dropped
      auto const fill = [this](auto) { static_cast<void>(permits_.try_send({})); };
      while (thrum::select(thrum::on_recv(tick.c(), fill), thrum::on_recv(filler_.context().done())) == 0) {
      }
    });
  }
  ~rate_limiter() { filler_.cancel(); }  // the destructor of the group then waits for the goroutine
  rate_limiter(rate_limiter const&) = delete;
  rate_limiter& operator=(rate_limiter const&) = delete;

  // Throws if the context is done first.
  void wait(thrum::context const& ctx) const {
    if (thrum::select(thrum::on_recv(permits_), thrum::on_recv(ctx.done())) == 1) ctx.throw_if_done();
  }

 private:
  thrum::chan<std::monostate> permits_;
  thrum::group filler_;
};

}  // namespace

int main() {
  return thrum::run([] {
    auto const began = thrum::clock::now();
    auto const so_far = [&] {
      return std::chrono::duration_cast<std::chrono::milliseconds>(thrum::clock::now() - began);
    };
    rate_limiter const limit(20ms, 3);
    auto const [ctx, cancel] = thrum::with_timeout(thrum::context::background(), 130ms);
    try {
      for (int request = 1;; ++request) {  // three at once, then one every 20 ms
        limit.wait(ctx);
        std::printf("request %d after %d ms\n", request, static_cast<int>(so_far().count()));
      }
    } catch (thrum::context_error const& e) {
      std::printf("%s after %d ms\n", e.code().message().c_str(), static_cast<int>(so_far().count()));
    }
  });
}
