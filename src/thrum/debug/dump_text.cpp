#include "debug/dump_text.h"

#include "debug/hexadecimal.h"
#include "os/call_name.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace thrum::rt {
namespace {

class text_writer {
 public:
  text_writer(symbols& known, std::string& out) : known_(known), out_(out) {}

  void add_places(std::uintptr_t pc) { out_ += lines_at(pc); }
  void add_stack(goroutine_entry const& e, goroutine_stack const& stack);
  void add_times(waiting_times const& times);

 private:
  // Many goroutines share a place, so its lines are made once.
  std::string const& lines_at(std::uintptr_t pc) {
    auto const found = lines_.try_emplace(pc);
    std::string& lines = found.first->second;
    if (found.second) for_each_shown(known_, pc, [&](code_place const& place) { lines += lines_of(place); });
    return lines;
  }

  symbols& known_;
  std::string& out_;
  std::unordered_map<std::uintptr_t, std::string> lines_;
};

void text_writer::add_stack(goroutine_entry const& e, goroutine_stack const& stack) {
  if (e.asleep.is_known()) {
    char const* const name = os::name_of_call(e.asleep.call);
    out_ += "in system call " + std::to_string(e.asleep.call);
    if (name != nullptr) out_.append(" (").append(name) += ')';
    out_ += '\n';
  }
  for (std::uintptr_t const pc : stack.known) add_places(pc);
  if (!stack.guessed.empty()) out_ += "perhaps called, directly or not, from\n";
  for (std::uintptr_t const pc : stack.guessed) add_places(pc);
  if (stack.is_cut) out_ += "...\n";
  if (stack.announced_at == 0) return;
  out_ += "inside a call announced at\n";
  add_places(stack.announced_at);
}

void add_age(char const* what, std::int64_t ns, std::string& out) {
  char age[32] = ", less than a second";
  write_age(ns, age, sizeof age);
  out += what;
  out += age + 1;
}

void text_writer::add_times(waiting_times const& times) {
  if (times.known == 0) return;
  add_age(", longest", times.longest_ns, out_);
  add_age(", median", times.median_ns, out_);
}

void add_first_ids(goroutine_entries const& some, std::string& out) {
  constexpr std::size_t shown_max = 10;
  char const* before = " ";
  for (std::size_t i = 0; i < std::min(some.size(), shown_max); ++i) {
    out.append(before).append(std::to_string(some[i]->id));
    before = ", ";
  }
  if (some.size() > shown_max) out += ", ...";
  out += '\n';
}

void begin(goroutine_list& all, dump_output& out) {
  if (all.remark() != nullptr) out.text().append("thrum: ").append(all.remark()) += "\n\n";
  all.cycles().write(out.text());
}

void end(goroutine_list const& all, symbols& known, dump_output& out) {
  if (all.left_out() != 0) out.text() += "... and " + std::to_string(all.left_out()) + " more\n";
  if (!all.entries().empty()) out.text() += known.note_on_names();
  out.flush();
}

}  // namespace

void write_text_of_each(goroutine_list& all, symbols& known, dump_output& out) {
  text_writer writer(known, out.text());
  begin(all, out);
  for (goroutine_entry const& e : all.entries()) {
    out.text().append(goroutine_head(e).text()) += '\n';
    writer.add_stack(e, stack_of(e, known));
    if (e.created_at != 0) {
      out.text() += "created by goroutine " + std::to_string(e.created_by) + '\n';
      writer.add_places(e.creation_call());
    }
    out.text() += '\n';
    out.pass_on();
  }
  end(all, known, out);
}

void write_text_of_groups(goroutine_list& all, std::vector<stack_group> const& groups, symbols& known,
                          dump_output& out) {
  text_writer writer(known, out.text());
  begin(all, out);
  std::string& text = out.text();
  text += std::to_string(all.entries().size() + all.left_out()) + " goroutines; equal stacks are shown once\n\n";
  for (stack_group const& group : groups) {
    goroutine_entry const& e = group.first();
    text += std::to_string(group.members.size()) + " @";
    for (std::uintptr_t const pc : group.stack.known) text.append(" ").append(hexadecimal(pc));
    text.append("\n[").append(name_of(e.status));
    if (e.waits()) text.append(": ").append(name_of(e.reason));
    writer.add_times(times_of(group.members));
    text.append(thread_note(e)).append(group.members.size() == 1 ? "] goroutine" : "] goroutines");
    add_first_ids(group.members, text);
    writer.add_stack(e, group.stack);
    if (e.created_at != 0) {
      text += "created at\n";
      writer.add_places(e.creation_call());
    }
    text += '\n';
    out.pass_on();
  }
  end(all, known, out);
}

void write_text_of_leaks(goroutine_list& all, std::vector<waiting_place> const& places, symbols& known,
                         dump_output& out) {
  text_writer writer(known, out.text());
  begin(all, out);
  std::string& text = out.text();
  text += "places where goroutines wait; those whose goroutines have waited longest, taken together, come first\n\n";
  for (waiting_place const& place : shown_of(places)) {
    goroutine_entry const& e = place.first();
    text += std::to_string(place.members.size());
    text.append(place.members.size() == 1 ? " goroutine [" : " goroutines [").append(name_of(e.reason));
    writer.add_times(place.times);
    text.append(thread_note(e)) += "]:";
    add_first_ids(place.members, text);
    text += "waiting at\n";
    text += place.waits_at.place != nullptr ? lines_of(*place.waits_at.place) : "an unknown place\n";
    if (e.created_at != 0) {
      text += "created at\n";
      writer.add_places(e.creation_call());
    }
    text += '\n';
    out.pass_on();
  }
  if (std::size_t const more = places.size() - shown_of(places).size(); more != 0)
    text.append("... and ").append(std::to_string(more)) += " more places\n";
  end(all, known, out);
}

}  // namespace thrum::rt
