#include "debug/goroutine_profile.h"

#include "debug/profile_builder.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace thrum::rt {
namespace {

std::vector<std::uintptr_t> stack_of(goroutine_entry const& e, symbols const& known) {
  if (e.status != g_status::syscall) return {e.pcs, e.pcs + e.frames};
  std::vector<std::uintptr_t> frames;
  if (e.asleep.is_known()) frames = known.frames_of(e.asleep).known;
  if (frames.size() <= 1 && e.announced_at != 0) frames.push_back(e.announced_at);  // the call may have been a leaf's
  return frames;
}

std::string state_of(goroutine_entry const& e) {
  std::string state = name_of(e.status);
  if (e.status != g_status::waiting) return state;
  state += ": ";
  state += name_of(e.reason);
  return state;
}

}  // namespace

std::string profile_of_goroutines(goroutine_list const& all, symbols& known) {
  profile_builder made(known, profile_builder::shown::program_alone, {{"goroutine", "count"}});
  made.set_period({"goroutine", "count"}, 1);
  std::int64_t const one = 1;
  for (goroutine_entry const& e : all.entries()) {
    std::string const id = std::to_string(e.id);
    std::string const state = state_of(e);
    std::initializer_list<profile_builder::label> const labels{
        {"goroutine", id}, {"name", e.name}, {"state", state}, {"created_at", made.site(e.created_at)}};
    auto const stack = stack_of(e, known);
    if (stack.empty()) {
      made.add_named(e.status == g_status::unstarted ? "(not started)" : "(stack not known)", std::span(&one, 1),
                     labels);
    } else {
      made.add(stack, std::span(&one, 1), labels);
    }
  }
  if (all.left_out() != 0) {
    made.add_comment(std::to_string(all.left_out()) + " more goroutines are left out");
  }
  return made.finish();
}

}  // namespace thrum::rt
