#include "debug/dump.h"

#include "base/check.h"
#include "base/report_limits.h"
#include "base/standard_error.h"
#include "debug/dump_json.h"
#include "debug/dump_text.h"
#include "debug/stack_groups.h"
#include "sched/world.h"

namespace thrum::rt {
namespace {

// For how many seconds of reports the reader of the names may make no step. Opening the files of a large program takes
// a while.
constexpr std::int64_t patience_with_names_s = 60;

// How long a dump that a running program is asked for waits for goroutines that are hard to stop.
constexpr std::int64_t patience_to_stop_ns = 1'000'000'000;

// The reader of the names may be late. Then the list was printed without them.
void write_to_stderr_unless_late(void* list, char const* text, std::size_t bytes) {
  if (!static_cast<goroutine_list*>(list)->has_no_names()) write_to_stderr(text, bytes);
}

}  // namespace

void write_dump(goroutine_list& all, dump_form form, symbols& known, dump_output& out) {
  if (form.view == dump_view::leaks) {
    auto const places = places_of_waiting(all, known);
    form.is_json ? write_json_of_leaks(all, places, known, out) : write_text_of_leaks(all, places, known, out);
    return;
  }
  bool const is_crowd = form.view == dump_view::automatic && all.entries().size() > grouped_above;
  if (form.view == dump_view::grouped || is_crowd) {
    auto const groups = groups_of(all, known);
    form.is_json ? write_json_of_groups(all, groups, known, out) : write_text_of_groups(all, groups, known, out);
    return;
  }
  form.is_json ? write_json_of_each(all, known, out) : write_text_of_each(all, known, out);
}

bool print_goroutines(goroutine_list& all) noexcept {
  auto const print = [](symbols& known, void* list) noexcept {
    auto& its = *static_cast<goroutine_list*>(list);
    try {
      dump_output out(write_to_stderr_unless_late, &its);
      write_dump(its, form_of_reports(), known, out);
    } catch (...) {
      print_error("thrum: no memory for the goroutine dump");
    }
  };
  report_end const end = with_symbols_in_time(patience_with_names_s * second_of_reports_ns(), print, &all);
  if (end == report_end::is_reached) return true;
  bool const is_left = end == report_end::is_left;
  if (is_left) all.leave_names_out();
  print_error("thrum: the names of functions cannot be had: %s",
              is_left ? "their reader has waited too long, probably for dlopen" : "no thread can be made to read them");
  all.print_plainly();
  return !is_left;
}

namespace {

// Calls note(frames) with the world stopped, or while it runs if it cannot be stopped.
template <class F>
void note_stopped(Sched& s, goroutine_list& all, F note) noexcept {
  using frames = goroutine_list::frames;
  world_stop::dump const under_way(s.world);
  if (s.end.exiting_m() != nullptr) {
    note(frames::none);
    all.set_remark("names and stacks are missing, because a goroutine has called exit()");
    return;
  }
  stopped_world const world(s, patience_to_stop_ns);
  bool const is_stopped = world.is_stopped();
  note(is_stopped ? frames::noted : frames::none);
  if (!is_stopped) {
    all.set_remark("names and stacks are missing, because a goroutine has been stopping all others for a second");
  } else if (!world.is_complete()) {
    all.set_remark("some goroutines could not be stopped within a second and are shown as they were found");
  }
}

}  // namespace

void note_on_thread(Sched& s, goroutine_list& all) noexcept {
  note_stopped(s, all, [&](goroutine_list::frames wanted) { all.note(s, wanted); });
}

void note_one_on_thread(Sched& s, goroutine_list& all, std::uint64_t id) noexcept {
  G const* const g = find_goroutine(s, id);
  if (g == nullptr) return;
  note_stopped(s, all, [&](goroutine_list::frames wanted) { all.note_one(s, wanted, *g, id); });
}

}  // namespace thrum::rt
