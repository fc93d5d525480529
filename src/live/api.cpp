#include "live/api.h"

#include "boot/outside_stats.h"
#include "debug/dump.h"
#include "debug/json.h"
#include "live/page.h"
#include "os/env.h"
#include "os/files.h"
#include <thrum/defer.h>
#include <thrum/stats.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace thrum::live {
namespace {

constexpr std::size_t seconds_usual = 5;
constexpr std::size_t seconds_most = 60;
constexpr std::size_t known_places_max = 10'000;  // of frames; a place takes some hundred bytes

// Nothing: it is no number from 1 to 60.
std::optional<std::size_t> seconds_in(std::string_view query) {
  std::string const text = parameter(query, "seconds").value_or(std::to_string(seconds_usual));
  std::size_t const seconds = rt::debug::number_in(text, 0, seconds_most);
  return seconds == 0 ? std::nullopt : std::optional(seconds);
}

http_answer wrong_seconds() { return error_answer(400, "seconds is a number from 1 to 60"); }

bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Lines of a name and a value become an object.
std::string json_of_lines(std::string_view lines) {
  std::string json;
  rt::json_writer to(json);
  to.begin_object();
  while (!lines.empty()) {
    std::size_t const end = std::min(lines.find('\n'), lines.size());
    std::string_view const line = lines.substr(0, end);
    std::size_t const blank = std::min(line.find(' '), line.size());
    std::string_view const value = line.substr(std::min(blank + 1, line.size()));
    to.name(line.substr(0, blank));
    is_number(value) ? to.raw(value) : to.value(value);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  to.end_object().end_line();
  return json;
}

// "the run is ending" will be true for good, and the others while another client is at it.
http_answer answer_of_failure(std::string_view why) {
  return error_answer(why == "the run is ending" ? 503 : 409, why);
}

http_answer download_of(std::string body, std::string_view name) {
  http_answer made;
  made.type = media::bytes;
  made.body = std::move(body);
  made.download = name;
  return made;
}

std::string folder_for_traces() {
  char const* const wanted = rt::os::environment("TMPDIR");
  return wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
}

}  // namespace

// What the debug socket's job has begun.
class api::reported final : public pending_answer {
 public:
  reported(std::unique_ptr<rt::debug::job> work, owned_descriptor file) noexcept
      : file_(std::move(file)), work_(std::move(work)) {
    ends_ns = work_->ends_ns;
  }

  [[nodiscard]] http_answer finish() override {
    rt::debug::answer given = work_->finish();
    if (given.is_error) return answer_of_failure(given.text);
    if (file_.get() < 0) return download_of(std::move(given.text), "thrum.pprof");
    http_answer made = download_of({}, "thrum.trace");
    made.file_bytes = rt::os::size_of_file(file_.get());
    made.file = std::move(file_);
    return made;
  }

 private:
  owned_descriptor file_;  // closed after the work, which has a lock on the file
  std::unique_ptr<rt::debug::job> work_;
};

api::api(rt::Sched& s, std::shared_ptr<rt::run_gate> gate)
    : sched_(s),
      gate_(std::move(gate)),
      reports_(s, gate_),
      goroutines_(s, *gate_),
      folder_for_traces_(folder_for_traces()) {}

http_answer api::answer(http_request const& asked) {
  constexpr std::string_view prefix = "/api/v1/";
  constexpr std::string_view goroutine_prefix = "/api/v1/goroutines/";
  bool const reads = asked.method == http_method::get || asked.method == http_method::head;
  bool const records = asked.path == "/api/v1/trace" || asked.path == "/api/v1/profile";
  if (records ? asked.method != http_method::post : !reads)
    return error_answer(405, records ? "this is a POST, because it records something" : "this is a GET");
  if (asked.path == "/") {
    http_answer made;
    made.type = media::html;
    made.page = page();
    return made;
  }
  if (asked.path == "/metrics") return metrics();
  if (asked.path.starts_with(goroutine_prefix)) return goroutine(asked.path.substr(goroutine_prefix.size()));
  if (!asked.path.starts_with(prefix))
    return error_answer(404, "there is nothing here; docs/live_view.md lists the paths");
  std::string_view const name = asked.path.substr(prefix.size());
  if (name == "about") return about();
  if (name == "stats") return stats();
  if (name == "goroutines") return goroutines_.answer(asked.query);
  if (name == "dump") return dump(asked.query);
  if (name == "profile") return profile(asked.query);
  if (name == "trace") return trace(asked.query);
  if (name == "events" && asked.method == http_method::get) {
    http_answer made;
    made.is_stream = true;
    return made;
  }
  return error_answer(404, "there is nothing here; docs/live_view.md lists the paths");
}

http_answer api::metrics() const {
  thrum::stats now;
  {
    rt::in_run const inside(*gate_);
    if (!inside) return answer_of_failure("the run is ending");
    now = rt::read_stats_from_outside(sched_);
  }
  http_answer made;
  made.type = media::metrics;
  made.body = prometheus_text(now);
  return made;
}

http_answer api::stats() {
  rt::debug::answer const given = reports_.handle({.line = "stats"});
  return given.is_error ? answer_of_failure(given.text) : json_answer(json_of_lines(given.text));
}

http_answer api::about() { return json_answer(json_of_lines(reports_.handle({.line = "about"}).text)); }

// Pages ask for one goroutine after the other, and most places are in many stacks, so the names are kept.
http_answer api::goroutine(std::string_view id) {
  std::uint64_t number = 0;
  auto const [end, failed] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (failed != std::errc{} || end != id.data() + id.size() || number == 0)
    return error_answer(400, "the id of a goroutine is a number");
  rt::goroutine_list found;
  {
    rt::in_run const inside(*gate_);
    if (!inside || sched_.end.exiting_m() != nullptr || sched_.world.is_forbidden())
      return answer_of_failure("the run is ending");
    note_one_on_thread(sched_, found, number);
  }
  if (found.entries().empty()) return error_answer(404, "there is no such goroutine");
  http_answer made = json_answer({});
  auto const add = [](void* to, char const* text, std::size_t bytes) {
    static_cast<std::string*>(to)->append(text, bytes);
  };
  rt::dump_output out(add, &made.body);
  if (!names_of_frames_) names_of_frames_.emplace();
  names_of_frames_->forget_if_unloaded();
  defer const closes = [this] { names_of_frames_->close_files(known_places_max); };
  write_dump(found, {.view = rt::dump_view::each, .is_json = true}, *names_of_frames_, out);
  return made;
}

http_answer api::dump(std::string_view query) {
  std::string const view = parameter(query, "view").value_or("grouped");
  // one by one, a hundred thousand goroutines take 100 MB
  if (view != "grouped" && view != "leaks") return error_answer(400, "view is grouped or leaks");
  std::string const format = parameter(query, "format").value_or("json");
  if (format != "json" && format != "text") return error_answer(400, "format is json or text");
  std::string const line = "dump " + view + ' ' + format;
  rt::debug::answer given = reports_.handle({.line = line});
  if (given.is_error) return answer_of_failure(given.text);
  http_answer made = json_answer(std::move(given.text));
  if (format == "text") made.type = media::text;
  return made;
}

http_answer api::profile(std::string_view query) {
  std::string const kind = parameter(query, "kind").value_or("cpu");
  auto const seconds = seconds_in(query);
  if (!seconds) return wrong_seconds();
  bool const takes_time = kind == "cpu" || kind == "blocks" || kind == "mutexes";
  if (!takes_time && kind != "goroutines") return error_answer(400, "kind is cpu, blocks, mutexes or goroutines");
  std::string line = "profile " + kind;
  if (takes_time) line += ' ' + std::to_string(*seconds);
  rt::debug::answer given = reports_.handle({.line = line});
  if (given.is_error) return answer_of_failure(given.text);
  if (given.work == nullptr) return download_of(std::move(given.text), "thrum.pprof");
  http_answer made;
  made.work = std::make_unique<reported>(std::move(given.work), owned_descriptor());
  return made;
}

http_answer api::trace(std::string_view query) {
  auto const seconds = seconds_in(query);
  if (!seconds) return wrong_seconds();
  int const fd = rt::os::open_without_name(folder_for_traces_.c_str());
  if (fd < 0) return error_answer(500, "no file for the trace can be made in the folder " + folder_for_traces_);
  owned_descriptor file(fd);
  std::string const line = "trace " + std::to_string(*seconds);
  rt::debug::answer given = reports_.handle({.line = line, .descriptor = fd});
  if (given.is_error) return answer_of_failure(given.text);
  http_answer made;
  made.work = std::make_unique<reported>(std::move(given.work), std::move(file));
  return made;
}

}  // namespace thrum::live
