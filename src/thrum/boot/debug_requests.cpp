#include "boot/debug_requests.h"

#include "boot/stats_lines.h"
#include "debug/dump.h"
#include "debug/symbols.h"
#include "debug/trace_writer.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/thread.h"

#include <cstring>
#include <utility>

namespace thrum::rt {
namespace {

using debug::answer;
using debug::error;
using debug::fine;
using debug::number_in;

answer run_is_over() { return error("the run is ending"); }

constexpr int protocol_version = 1;
constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::int64_t trace_seconds_max = 3600;
constexpr std::size_t groups_usual = 100;
constexpr std::size_t groups_most = 10'000;

constexpr std::string_view help_text =
    "about           the version of this protocol, and facts about the process\n"
    "help            this list\n"
    "stats           figures of the scheduler, one per line\n"
    "goroutines N    the goroutines in groups by state and place, the N largest groups\n"
    "dump WORDS      all goroutines with their stacks. The words: each, grouped or leaks, and json\n"
    "profile WORDS   a profile for pprof. The words: goroutines; cpu, blocks or mutexes, and for how many seconds\n"
    "trace SECONDS   records a trace into the file whose descriptor comes with the request\n";

// A trace of the run. If its client goes away before the end, the trace ends at once.
class traced final : public debug::job {
 public:
  traced(Sched& s, std::shared_ptr<run_gate> gate) noexcept : sched_(s), gate_(std::move(gate)) {}
  void has_begun(std::uint32_t number, std::int64_t until_ns) noexcept {
    is_on_ = true;
    number_ = number;
    ends_ns = until_ns;
  }
  ~traced() override { static_cast<void>(finish()); }
  traced(traced const&) = delete;
  traced& operator=(traced const&) = delete;

  [[nodiscard]] answer finish() override {
    if (!std::exchange(is_on_, false)) return fine("");
    in_run const inside(*gate_);
    if (!inside) return error("the run is ending, and the trace with it");
    auto const ended = sched_.trace.its_writer->stop_trace(number_);
    if (!ended.was_tracing) return error("the program itself has ended the trace");
    if (ended.error != 0) return error(std::string("the trace is not complete: write: ") + std::strerror(ended.error));
    return fine("");
  }

 private:
  Sched& sched_;
  std::shared_ptr<run_gate> const gate_;
  bool is_on_ = false;
  std::uint32_t number_ = 0;
};

}  // namespace

debug_requests::debug_requests(Sched& s, std::shared_ptr<run_gate> gate) noexcept
    : sched_(s), gate_(std::move(gate)), started_ns_(os::monotonic_ns()), profiles_(s, gate_) {}

answer debug_requests::handle(debug::request const& asked) {
  std::size_t const blank = asked.line.find(' ');
  std::string_view const word = asked.line.substr(0, blank);
  std::string_view const rest = blank == std::string_view::npos ? std::string_view{} : asked.line.substr(blank + 1);
  if (word == "goroutines") return goroutines(rest);
  if (word == "trace") return trace(rest, asked.descriptor);
  if (word == "dump") return dump(rest);
  if (word == "profile") return profiles_.handle(rest);
  if (!rest.empty()) return error("unknown request; \"help\" lists all");
  if (word == "about") return about();
  if (word == "help") return fine(std::string(help_text));
  if (word == "stats") return stats();
  return error("unknown request; \"help\" lists all");
}

answer debug_requests::about() const {
  std::string text = "protocol " + std::to_string(protocol_version);
  text += "\npid " + std::to_string(os::process_id());
  text += "\nuptime_ns " + std::to_string(os::monotonic_ns() - started_ns_) + '\n';
  return fine(std::move(text));
}

answer debug_requests::stats() const {
  in_run const inside(*gate_);
  return inside ? fine(stats_lines(sched_)) : run_is_over();
}

// A goroutine that is exiting the program has stopped the others for good, and a stop of the world would wait in vain.
answer debug_requests::dump(std::string_view form_words) const {
  dump_form form;
  if (!parse_dump_form(form_words, form)) return error("dump WORDS: the words are each, grouped, leaks, text and json");
  goroutine_list all;
  {
    in_run const inside(*gate_);
    if (!inside || sched_.end.exiting_m() != nullptr || sched_.world.is_forbidden()) return run_is_over();
    note_on_thread(sched_, all);
  }
  answer given;
  auto const add = [](void* to, char const* text, std::size_t bytes) {
    static_cast<std::string*>(to)->append(text, bytes);
  };
  dump_output out(add, &given.text);
  symbols known;
  write_dump(all, form, known, out);
  return given;
}

// COUNT, STATE, REASON, LONGEST_NS and PLACE, with tabs between them.
answer debug_requests::goroutines(std::string_view groups_max) {
  std::size_t const most = number_in(groups_max, groups_usual, groups_most);
  if (most == 0) return error("goroutines N: N is a number from 1 to " + std::to_string(groups_most));
  std::vector<origin_group> groups;
  {
    in_run const inside(*gate_);
    if (!inside) return run_is_over();
    groups = groups_by_origin(sched_);
  }
  std::uint64_t others = 0;
  for (; groups.size() > most; groups.pop_back()) others += groups.back().count;
  names_.learn(groups);
  std::string text;
  for (origin_group const& group : groups) {
    bool const waits = group.status == g_status::waiting;
    text += std::to_string(group.count) + '\t' + name_of(group.status) + '\t' + (waits ? name_of(group.reason) : "");
    text += '\t' + std::to_string(group.longest_ns) + '\t' + names_.of(group.created_at) + '\n';
  }
  if (others != 0) text += std::to_string(others) + "\tother\t\t0\tin smaller groups\n";
  return fine(std::move(text));
}

answer debug_requests::trace(std::string_view seconds, int descriptor) const {
  std::size_t const length = number_in(seconds, 0, trace_seconds_max);
  if (length == 0) return error("trace SECONDS: from 1 to " + std::to_string(trace_seconds_max));
  // The file is opened again, with the rights of this process, so the client must show that it may write to it.
  if (descriptor < 0 || !os::is_regular(descriptor) || !os::is_open_to_write(descriptor))
    return error("trace SECONDS: the descriptor of a file that is open for writing has to come with the request");
  auto work = std::make_unique<traced>(sched_, gate_);
  std::uint32_t begun_as = 0;
  {
    in_run const inside(*gate_);
    if (!inside || sched_.end.exiting_m() != nullptr) return run_is_over();
    auto const begun = sched_.trace.its_writer->start("/proc/self/fd/" + std::to_string(descriptor));
    using outcome = rt::trace::writer::start_outcome;
    if (begun.outcome == outcome::already_tracing) return error("a trace is being written or recorded already");
    if (begun.outcome == outcome::failed)
      return error(std::string("trace: ") + begun.call + " the file: " + std::strerror(begun.error));
    begun_as = begun.number;
  }
  work->has_begun(begun_as, os::monotonic_ns() + static_cast<std::int64_t>(length) * ns_per_s);
  return {.is_error = false, .text = {}, .work = std::move(work), .keeps_descriptor = true};
}

}  // namespace thrum::rt
