#include "command/scenes/json.h"

#include "command/trace/json_writer.h"
#include "command/trace/text.h"

#include <cstdint>
#include <string_view>

namespace thrum::command {
namespace {

using namespace scenes;

std::int64_t wide(int number) { return number; }

class writer {
 public:
  std::string take(recording const& all) {
    out_.begin_object().member("format", "thrum-recording").member("version", wide(1)).member("kind", "scenes");
    add("title", all.title);
    out_.member("clock", "steps").name("parts").begin_array();
    for (part const& each : all.parts) add(each, all);
    out_.end_array().end_object();
    return out_.take();
  }

 private:
  void add(std::string_view name, words const& both) {
    out_.name(name).begin_object().member("en", std::string_view(both.en)).member("zh", std::string_view(both.zh));
    out_.end_object();
  }

  void add(std::string_view name, std::vector<int> const& numbers) {
    out_.name(name).begin_array();
    for (int const each : numbers) out_.value(wide(each));
    out_.end_array();
  }

  // null if there is none
  void add_or_null(std::string_view name, int number) {
    out_.name(name);
    if (number < 0) {
      out_.null();
    } else {
      out_.value(wide(number));
    }
  }
  // left out if there is none
  void add_if_any(std::string_view name, int number) {
    if (number >= 0) out_.member(name, wide(number));
  }

  void add(part const& one, recording const& all) {
    out_.begin_object().member("id", std::string_view(one.id));
    add("title", one.title);
    add("story", one.story);
    out_.member("procs", wide(all.procs)).member("queue_size", wide(all.queue_size));
    out_.name("steps").begin_array();
    for (step const& each : one.steps) add(each);
    out_.end_array().end_object();
  }

  void add(step const& one) {
    out_.begin_object().member("t", wide(one.t));
    add("text", one.text);
    out_.name("source").begin_array();
    for (source_lines const& each : one.source) {
      out_.begin_object().member("file", std::string_view(each.file));
      out_.member("function", std::string_view(each.function)).member("line", wide(each.line));
      out_.name("lines").begin_array();
      for (std::string const& line : each.lines) out_.value(std::string_view(line));
      out_.end_array().end_object();
    }
    out_.end_array().name("events").begin_array();
    for (event const& each : one.events) add(each);
    out_.end_array().name("state");
    add(one.state);
    out_.end_object();
  }

  void add(std::string_view name, place const& where) {
    if (where.kind == std::string_view("none")) return;
    out_.name(name).begin_object().member("kind", where.kind);
    add_if_any("p", where.p);
    if (!where.id.empty()) out_.member("id", std::string_view(where.id));
    out_.end_object();
  }

  void add(event const& one) {
    out_.begin_object().member("kind", one.kind);
    add_if_any("g", one.g);
    add_if_any("p", one.p);
    add_if_any("m", one.m);
    add_if_any("by", one.by);
    add("from", one.from);
    add("to", one.to);
    if (!one.gs.empty()) {
      out_.member("n", wide(static_cast<int>(one.gs.size())));
      add("gs", one.gs);
    }
    if (!one.text.en.empty()) add("text", one.text);
    out_.end_object();
  }

  void add(machine const& state) {
    out_.begin_object();
    add("global", state.global);
    out_.name("procs").begin_array();
    for (p_state const& p : state.procs) {
      out_.begin_object().member("id", wide(p.id)).member("status", p.status);
      add_or_null("m", p.m);
      add_or_null("running", p.running);
      add_or_null("next", p.next);
      add("ring", p.ring);
      out_.end_object();
    }
    out_.end_array().name("ms").begin_array();
    for (m_state const& m : state.ms) {
      out_.begin_object().member("id", wide(m.id)).member("state", m.state);
      add_or_null("p", m.p);
      add_or_null("g", m.g);
      out_.end_object();
    }
    out_.end_array().name("gs").begin_array();
    for (g_state const& g : state.gs) add(g, state);
    out_.end_array().name("waiting").begin_array();
    for (waiting_place const& each : state.waiting) {
      out_.begin_object().member("id", std::string_view(each.id)).member("kind", each.kind);
      out_.member("label", std::string_view(each.label));
      add("gs", each.gs);
      out_.end_object();
    }
    out_.end_array().end_object();
  }

  void add(g_state const& g, machine const& in) {
    std::string const label = g.id == 0 ? "main" : text("G%d", g.id);
    out_.begin_object().member("id", wide(g.id)).member("label", std::string_view(label)).member("state", g.state);
    for (waiting_place const& each : in.waiting) {
      for (int const waits : each.gs) {
        if (waits == g.id) out_.member("reason", "system call").member("place", std::string_view(each.id));
      }
    }
    out_.end_object();
  }

  json_writer out_;
};

}  // namespace

std::string json_of(recording const& recorded) { return writer().take(recorded); }

}  // namespace thrum::command
