// A pipeline that ends early. Each stage is a goroutine that reads from one channel and writes to the next. The first
// stage would count forever. When main has seen enough, it cancels the group, and each stage sees in its context that
// it has to end, wherever it waits.
#include <thrum/thrum.h>

#include <cstdio>

namespace {

using numbers = thrum::chan<long>;

// Sends n, unless the context is done first. Returns whether n was sent.
bool send(thrum::context const& ctx, numbers::sender const& to, long n) {
  return thrum::select(thrum::on_recv(ctx.done()), thrum::on_send(to, n)) == 1;
}

numbers::receiver count(thrum::group& stages) {
  numbers out;
  stages.go([&stages, out] {
    thrum::defer const end = [&] { out.close(); };
    for (long n = 1; send(stages.context(), out, n); ++n) {
    }
  });
  return out;
}

numbers::receiver square(thrum::group& stages, numbers::receiver in) {
  numbers out;
  stages.go([&stages, in, out] {
    thrum::defer const end = [&] { out.close(); };
    for (long n : in) {
      if (!send(stages.context(), out, n * n)) return;
    }
  });
  return out;
}

}  // namespace

int main() {
  return thrum::run([] {
    thrum::group stages;
    numbers::receiver const squares = square(stages, count(stages));
    long sum = 0;
    for (long n : squares) {
      sum += n;
      std::printf("%ld, all in all %ld\n", n, sum);
      if (sum > 1000) break;
    }
    stages.cancel();  // otherwise the next line would wait forever
    stages.wait();
    std::puts("every stage has ended");
  });
}
