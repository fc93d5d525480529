// An HTTP/1.1 server on thrum: one goroutine per connection, in blocking style. llhttp parses the requests.
//
//   example_http [--port N] [--bind ADDRESS] [--procs P] [--root DIR] [--idle-ms N] [--request-ms N] [--grace-ms N]
//
//   /plaintext     "Hello, World!"                   /slow?ms=N    answers after N ms; thousands at once cost no thread
//   /echo          POST: returns the body            /stats        what thrum's scheduler has done
//   /file/...      the files below --root, or parts  /metrics      the same for Prometheus
//   /fail          a handler that throws: 500, and the server goes on
//
// The server prints "serving on ADDRESS:PORT" when it listens. On SIGTERM or SIGINT it stops accepting, closes idle
// connections and finishes the requests that have begun. It ends with exit code 0, or with 1 if some requests had not
// ended after --grace-ms. A second signal ends it at once.
#include "server.h"
#include "settings.h"
#include <thrum/thrum.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <sys/resource.h>

namespace {

constexpr char const* usage =
    "usage: example_http [--port N] [--bind ADDRESS] [--procs P] [--root DIR] [--idle-ms N] [--request-ms N] "
    "[--grace-ms N]\n";

template <class Number>
bool read_number(std::string_view text, Number least, Number most, Number& to) {
  Number value{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) return false;
  to = value;
  return true;
}

bool read_time(std::string_view text, std::chrono::milliseconds& to) {
  long ms = 0;
  if (!read_number(text, 1L, 86'400'000L, ms)) return false;
  to = std::chrono::milliseconds(ms);
  return true;
}

bool read_arguments(std::span<char* const> words, http::settings& to) {
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    std::string_view const name = words[i];
    std::string_view const value = words[i + 1];
    bool good = !value.empty();
    if (name == "--port") {
      good = read_number<std::uint16_t>(value, 0, 65'535, to.port);
    } else if (name == "--bind") {
      to.bind = value;
    } else if (name == "--procs") {
      good = read_number(value, 1, 1'024, to.procs);
    } else if (name == "--root") {
      to.root = value;
    } else if (name == "--idle-ms") {
      good = read_time(value, to.idle);
    } else if (name == "--request-ms") {
      good = read_time(value, to.request);
    } else if (name == "--grace-ms") {
      good = read_time(value, to.grace);
    } else {
      good = false;
    }
    if (!good) return false;
  }
  return words.size() % 2 == 0;
}

void allow_many_descriptors() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

http::site open_site(http::settings const& chosen) {
  http::site made;
  if (chosen.root.empty()) return made;
  made.root = http::descriptor(::open(chosen.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!made.root) throw std::system_error(errno, std::generic_category(), chosen.root);
  return made;
}

int serve(http::server& server, http::settings const& chosen) {
  bool const is_v6 = chosen.bind.find(':') != std::string::npos;
  auto listener =
      thrum::tcp_listener::listen((is_v6 ? '[' + chosen.bind + ']' : chosen.bind) + ':' + std::to_string(chosen.port));
  auto const stop = thrum::signals(SIGINT, SIGTERM);
  auto accepting = thrum::spawn([&] { server.accept_from(listener); });
  std::printf("serving on %s\n", listener.local_endpoint().to_string().c_str());
  std::fflush(stdout);

  static_cast<void>(stop.recv());
  thrum::stop_signals(stop);
  listener.close();
  accepting.join();
  return server.finish() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  http::settings chosen;
  if (!read_arguments(std::span(argv, static_cast<std::size_t>(argc)).subspan(1), chosen)) {
    std::fputs(usage, stderr);
    return 2;
  }
  allow_many_descriptors();
  try {
    http::site const site = open_site(chosen);
    // Outlives the run, because connections that are cut off use it until the end.
    http::server server(chosen, site);
    return thrum::run([&] { return serve(server, chosen); }, {.max_procs = chosen.procs});
  } catch (std::exception const& error) {
    std::fprintf(stderr, "example_http: %s\n", error.what());
    return 1;
  }
}
