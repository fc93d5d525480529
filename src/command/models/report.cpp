#include "command/models/report.h"

#include "command/trace/json_writer.h"
#include "command/trace/text.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace thrum::command {
namespace {

using ull = unsigned long long;

constexpr double notable = 1.5;  // from this ratio on a difference is named

struct model_text {
  char const* key;
  char const* name;
  char const* what_it_is;
  char const* colour;
};
constexpr std::array<model_text, model_count> models{{
    {"thread_each", "1:1", "a thread for each task", "#ee6677"},
    {"one_thread", "N:1", "all tasks on one thread", "#ccbb44"},
    {"locked_queue", "M:N, one queue", "several threads, one queue under one lock, no Ps", "#66ccee"},
    {"with_ps", "M:N with Ps", "thrum: a P with a run queue of its own for each thread that runs tasks", "#228833"},
}};

enum class unit : std::uint8_t { ns, bytes };
struct job_text {
  char const* key;
  char const* name;
  unit in;
};
constexpr std::array<job_text, job_count> jobs{{
    {"start_and_join_ns", "start and join a short task", unit::ns},
    {"message_ns", "send a message to another task", unit::ns},
    {"computing_ns", "compute, in 64 tasks", unit::ns},
    {"blocked_ns", "100 short tasks beside 8 blocking calls", unit::ns},
    {"waiting_bytes", "memory of a waiting task", unit::bytes},
}};
constexpr std::size_t own = static_cast<std::size_t>(model::with_ps);

std::string value_text(std::size_t which, cell const& one) {
  if (!one.error.empty()) return "-";
  if (jobs[which].in == unit::bytes) return text("%.1f KiB", one.is.value / 1024);
  return duration(one.is.value);
}

std::string name_of(std::size_t which, job_sizes const& sizes) {
  if (static_cast<job>(which) != job::blocked) return jobs[which].name;
  return text("%llu short tasks beside %llu blocking calls", ull{sizes.tasks_beside_calls}, ull{sizes.calls});
}

// How many times as much as with Ps, or 0 if that cannot be said.
double ratio(comparison const& all, std::size_t which, std::size_t how) {
  cell const& mine = all[which][own];
  cell const& other = all[which][how];
  if (!mine.error.empty() || !other.error.empty() || mine.is.value <= 0) return 0;
  return other.is.value / mine.is.value;
}

// What speaks against a model on this machine.
std::string against(comparison const& all, std::size_t how, job_sizes const& sizes) {
  std::string found;
  for (std::size_t which = 0; which < job_count; ++which) {
    double const times = ratio(all, which, how);
    cell const& one = all[which][how];
    if (times < notable && one.error.empty()) continue;
    if (!found.empty()) found += "; ";
    found += name_of(which, sizes);
    found += ": " + (one.error.empty() ? text(times < 10 ? "%.1f times" : "%.0f times", times) : one.error);
  }
  return found.empty() ? "no job takes 1.5 times as much as with Ps" : found;
}

std::string heading(job_sizes const& sizes) {
  return text("The same jobs in four models, %u threads run tasks (N:1: one)", sizes.threads);
}

constexpr double left_px = 150, bar_px = 560, value_px = 110, row_px = 22, panel_gap_px = 16;

void draw_panel(std::string& out, comparison const& all, std::size_t which, std::string const& name, double y) {
  double longest = 0;
  for (cell const& each : all[which]) longest = std::max(longest, each.is.value);
  out += text("<text x=\"10\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", y + 14, name.c_str());
  for (std::size_t how = 0; how < model_count; ++how) {
    y += row_px;
    double const width = longest > 0 ? std::max(bar_px * all[which][how].is.value / longest, 1.0) : 1.0;
    out += text("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", left_px - 8, y + 14, models[how].name);
    out += text("<rect x=\"%.0f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" fill=\"%s\"/>\n", left_px, y + 2, width,
                row_px - 6, models[how].colour);
    out += text("<text x=\"%.1f\" y=\"%.0f\">%s</text>\n", left_px + width + 6, y + 14,
                value_text(which, all[which][how]).c_str());
  }
}

}  // namespace

std::string as_table(comparison const& all, job_sizes const& sizes) {
  constexpr std::size_t name_columns = 42;
  std::string out = heading(sizes) + "\n\n" + fitted("", name_columns);
  for (model_text const& each : models) out += text("%16s", each.name);
  out += '\n';
  for (std::size_t which = 0; which < job_count; ++which) {
    out += fitted(name_of(which, sizes), name_columns);
    for (cell const& each : all[which]) out += text("%16s", value_text(which, each).c_str());
    out += '\n';
  }
  out += "\nAgainst each model, beside M:N with Ps:\n";
  for (std::size_t how = 0; how < own; ++how)
    out += text("  %s (%s)\n    %s\n", models[how].name, models[how].what_it_is, against(all, how, sizes).c_str());
  return out;
}

std::string as_json(comparison const& all, job_sizes const& sizes) {
  json_writer json;
  json.begin_object();
  json.member("threads", std::uint64_t{sizes.threads}).name("models").begin_object();
  for (std::size_t how = 0; how < model_count; ++how) {
    json.name(models[how].key).begin_object();
    for (std::size_t which = 0; which < job_count; ++which) {
      cell const& one = all[which][how];
      if (one.error.empty()) {
        json.member(jobs[which].key, one.is.value);
      } else {
        json.member(jobs[which].key, one.error);
      }
    }
    json.member("tasks_done_beside_calls", all[static_cast<std::size_t>(job::blocked)][how].is.beside_calls);
    json.end_object();
  }
  return json.end_object().end_object().take();
}

std::string as_svg(comparison const& all, job_sizes const& sizes) {
  double const panel = row_px * (model_count + 1) + panel_gap_px;
  double const top = 50;
  double const below = top + panel * job_count;
  std::string out = text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
      "<text x=\"10\" y=\"24\" font-size=\"15\">%s</text>\n<text x=\"10\" y=\"42\">Shorter bars are better. The "
      "scale is that of each job.</text>\n",
      left_px + bar_px + value_px, below + 2 * row_px * own + 10, heading(sizes).c_str());
  for (std::size_t which = 0; which < job_count; ++which)
    draw_panel(out, all, which, name_of(which, sizes), top + panel * static_cast<double>(which));
  double y = below;
  for (std::size_t how = 0; how < own; ++how) {
    out +=
        text("<text x=\"10\" y=\"%.0f\">Against %s (%s):</text>\n", y + 14, models[how].name, models[how].what_it_is);
    out += text("<text x=\"24\" y=\"%.0f\">%s</text>\n", y + 14 + row_px - 6, against(all, how, sizes).c_str());
    y += 2 * row_px;
  }
  return out + "</svg>\n";
}

}  // namespace thrum::command
