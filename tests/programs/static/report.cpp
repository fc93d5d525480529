// Linked statically, it loads no library: neither for the names in a report, nor to look up a name.
#include <thrum/thrum.h>

#include <chrono>
#include <cstdio>
#include <system_error>

int main() {
  return thrum::run([] {
    thrum::dump_goroutines(stdout);
    thrum::chan<int> done;
    thrum::go([&] {
      std::error_code refused;
      static_cast<void>(thrum::tcp_conn::dial("localhost:1", std::chrono::seconds(10), refused));
      std::printf("dial: %s\n", refused.message().c_str());
      done.send(1);
    });
    static_cast<void>(done.recv());
    std::printf("every call came back\n");
  });
}
