#include "debug/dump_json.h"

#include "debug/hexadecimal.h"
#include "debug/json.h"
#include "os/call_name.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace thrum::rt {
namespace {

constexpr std::uint64_t version = 1;

std::string_view lock_name(lock_wait_kind kind) noexcept {
  switch (kind) {
    case lock_wait_kind::to_own: return "mutex";
    case lock_wait_kind::to_read: return "shared mutex (read)";
    case lock_wait_kind::to_write: return "shared mutex (write)";
    case lock_wait_kind::none: break;
  }
  return "";
}

void add_frame(code_place const& place, std::uintptr_t pc, json_writer& out) {
  out.begin_object().member("function", place.function);
  if (!place.file.empty()) out.member("file", place.file);
  if (place.line > 0) out.member("line", std::int64_t{place.line});
  out.member("offset", std::uint64_t{place.offset}).member("address", hexadecimal(pc)).end_object();
}

class dump_as_json {
 public:
  dump_as_json(goroutine_list& all, symbols& known, dump_output& out) : all_(all), known_(known), out_(out) {}

  // The head, up to the list of goroutines, groups or places.
  void begin(char const* list);
  void end();

  json_writer& item() { return json_; }
  void end_item() {
    json_.end_object();
    out_.pass_on();
  }
  void begin_item() { json_.end_line().begin_object(); }

  void add_state(goroutine_entry const& e);
  void add_stack(goroutine_entry const& e, goroutine_stack const& stack);
  void add_creation(goroutine_entry const& e) {
    if (e.created_at != 0) add_frames("created_at", {e.creation_call()});
  }
  void add_members(goroutine_entries const& members, waiting_times const& times);

 private:
  void add_frames(char const* name, std::vector<std::uintptr_t> const& pcs);
  // Many goroutines share a place, so its text is made once.
  std::string const& frames_at(std::uintptr_t pc);

  goroutine_list& all_;
  symbols& known_;
  dump_output& out_;
  json_writer json_{out_.text()};
  std::unordered_map<std::uintptr_t, std::string> frames_;
};

std::string const& dump_as_json::frames_at(std::uintptr_t pc) {
  auto const [at, is_new] = frames_.try_emplace(pc);
  if (is_new) {
    json_writer frames(at->second);
    for_each_shown(known_, pc, [&](code_place const& place) { add_frame(place, pc, frames); });
  }
  return at->second;
}

void dump_as_json::add_frames(char const* name, std::vector<std::uintptr_t> const& pcs) {
  json_.name(name).begin_array();
  for (std::uintptr_t const pc : pcs) json_.raw(frames_at(pc));
  json_.end_array();
}

void dump_as_json::begin(char const* list) {
  json_.begin_object()
      .member("version", version)
      .member("total", std::uint64_t{all_.entries().size() + all_.left_out()});
  json_.member("left_out", std::uint64_t{all_.left_out()}).name("deadlocks").begin_array();
  for (wait_cycles::cycle const& links : all_.cycles().find()) {
    json_.begin_array();
    for (wait_cycles::link const& each : links) {
      json_.begin_object().member("goroutine", each.waiter).member("waits_for", lock_name(each.kind));
      json_.member("object", hexadecimal(reinterpret_cast<std::uintptr_t>(each.object))).end_object();
    }
    json_.end_array();
  }
  json_.end_array().name(list).begin_array();
}

void dump_as_json::end() {
  json_.end_line().end_array().name("remarks").begin_array();
  if (all_.remark() != nullptr) json_.value(all_.remark());
  std::string_view note = known_.note_on_names();
  if (note.ends_with('\n')) note.remove_suffix(1);
  if (!note.empty() && !all_.entries().empty()) json_.value(note);
  json_.end_array().end_object().end_line();
  out_.flush();
}

void dump_as_json::add_state(goroutine_entry const& e) {
  json_.member("state", name_of(e.status));
  if (e.waits()) json_.member("reason", name_of(e.reason));
  if (e.is_locked || e.is_foreign) json_.member("thread", e.is_foreign ? "outside" : "locked");
}

void dump_as_json::add_stack(goroutine_entry const& e, goroutine_stack const& stack) {
  if (e.asleep.is_known()) {
    json_.name("system_call").begin_object().member("number", std::int64_t{e.asleep.call});
    if (char const* const name = os::name_of_call(e.asleep.call)) json_.member("name", name);
    json_.end_object();
  }
  add_frames("stack", stack.known);
  if (!stack.guessed.empty()) add_frames("perhaps_called_from", stack.guessed);
  json_.member("stack_is_cut", stack.is_cut);
  if (stack.announced_at != 0) add_frames("announced_at", {stack.announced_at});
}

void dump_as_json::add_members(goroutine_entries const& members, waiting_times const& times) {
  json_.member("count", std::uint64_t{members.size()}).name("ids").begin_array();
  for (goroutine_entry const* const e : members) json_.value(e->id);
  json_.end_array();
  if (times.known == 0) return;
  json_.name("waited").begin_object().member("known", std::uint64_t{times.known});
  json_.member("shortest_ns", times.shortest_ns).member("median_ns", times.median_ns);
  json_.member("longest_ns", times.longest_ns).member("total_ns", times.total_ns).end_object();
}

}  // namespace

void write_json_of_each(goroutine_list& all, symbols& known, dump_output& out) {
  dump_as_json json(all, known, out);
  json.begin("goroutines");
  for (goroutine_entry const& e : all.entries()) {
    json.begin_item();
    json.item().member("id", e.id);
    if (e.name[0] != '\0') json.item().member("name", e.name);
    json.add_state(e);
    if (e.waits_for_ns > 0) json.item().member("waits_for_ns", e.waits_for_ns);
    json.add_stack(e, stack_of(e, known));
    if (e.created_at != 0) json.item().member("created_by", e.created_by);
    json.add_creation(e);
    json.end_item();
  }
  json.end();
}

void write_json_of_groups(goroutine_list& all, std::vector<stack_group> const& groups, symbols& known,
                          dump_output& out) {
  dump_as_json json(all, known, out);
  json.begin("groups");
  for (stack_group const& group : groups) {
    json.begin_item();
    json.add_members(group.members, times_of(group.members));
    json.add_state(group.first());
    json.add_stack(group.first(), group.stack);
    json.add_creation(group.first());
    json.end_item();
  }
  json.end();
}

void write_json_of_leaks(goroutine_list& all, std::vector<waiting_place> const& places, symbols& known,
                         dump_output& out) {
  dump_as_json json(all, known, out);
  json.begin("places");
  for (waiting_place const& place : shown_of(places)) {
    json.begin_item();
    json.add_members(place.members, place.times);
    json.add_state(place.first());
    json.item().name("waits_at").begin_array();
    if (place.waits_at.place != nullptr) add_frame(*place.waits_at.place, place.waits_at.pc, json.item());
    json.item().end_array();
    json.add_creation(place.first());
    json.end_item();
  }
  json.end();
}

}  // namespace thrum::rt
