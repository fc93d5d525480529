#include "handlers.h"

#include <thrum/thrum.h>

#include <charconv>
#include <chrono>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace http {

namespace {

// The number after "name=" in "a=1&name=2". Returns nothing if it is missing or not a number.
std::optional<unsigned> number_in(std::string_view query, std::string_view name) noexcept {
  while (!query.empty()) {
    std::string_view const pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.substr(0, pair.find('=')) != name) continue;
    std::string_view const value = pair.substr(std::min(name.size() + 1, pair.size()));
    unsigned number = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

response plaintext(request& /*asked*/, site const& /*of*/) {
  response made;
  made.content_type = "text/plain";
  made.body = "Hello, World!";
  return made;
}

response echo(request& asked, site const& /*of*/) {
  response made;
  made.content_type = "application/octet-stream";
  made.body = std::move(asked.body);
  return made;
}

// The goroutine is parked, so thousands of these at the same time cost only their stacks and timers.
response slow(request& asked, site const& /*of*/) {
  constexpr unsigned longest_ms = 600'000;
  auto const ms = number_in(asked.query, "ms");
  if (!ms || *ms > longest_ms) return plain_status(400);
  thrum::sleep_for(std::chrono::milliseconds(*ms));
  response made;
  made.body = "slept " + std::to_string(*ms) + " ms\n";
  return made;
}

response stats(request& /*asked*/, site const& /*of*/) {
  thrum::stats const now = thrum::read_stats();
  std::ostringstream text;
  text << "procs " << now.procs.size() << "\nprocs_idle " << now.idle_procs << "\nthreads " << now.threads
       << "\nthreads_idle " << now.idle_threads << "\ngoroutines_running " << now.running << "\ngoroutines_runnable "
       << now.runnable << "\ngoroutines_in_calls " << now.in_calls << "\ngoroutines_waiting " << now.waiting
       << "\ngoroutines_created " << now.created << '\n';
  for (thrum::proc_stats const& p : now.procs) {
    text << "proc " << p.id << " queued " << p.queued << " parks " << p.parks << " readies " << p.readies << " steals "
         << p.steals << " timers " << p.timers_run << '\n';
  }
  response made;
  made.body = text.str();
  return made;
}

response metrics(request& /*asked*/, site const& /*of*/) {
  response made;
  made.content_type = "text/plain; version=0.0.4; charset=utf-8";
  made.body = thrum::prometheus_text(thrum::read_stats());
  return made;
}

response fail(request& /*asked*/, site const& /*of*/) { throw std::runtime_error("/fail does as it says"); }

}  // namespace http
