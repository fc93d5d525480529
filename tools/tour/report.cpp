#include "report.h"

#include "measure.h"
#include "text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tour {
namespace {

using stats = thrum::proc_stats;

struct column {
  std::uint64_t stats::*counter;
  char const* title[2];  // two lines, to be narrow
};

constexpr std::array columns{
    column{&stats::created, {"", "made"}},
    column{&stats::ended, {"", "ended"}},
    column{&stats::stack_handovers, {"stack", "passed"}},
    column{&stats::joined_in_place, {"joined", "inline"}},
    column{&stats::switches_direct, {"direct", "switch"}},
    column{&stats::switches_via_g0, {"via", "g0"}},
    column{&stats::steals, {"", "steals"}},
    column{&stats::stolen, {"got by", "steals"}},
    column{&stats::global_takes, {"from", "global"}},
    column{&stats::overflows, {"queue", "full"}},
    column{&stats::wakes, {"woke", "a P"}},
};

// How a goroutine came to run, in the order of what it cost.
struct way {
  std::uint64_t stats::*counter;
  char const* block;
  ink colour;
  char const* name;
};

constexpr std::array ways{
    way{&stats::joined_in_place, "█", ink::green, "called by its joiner"},
    way{&stats::stack_handovers, "▓", ink::cyan, "on a passed stack"},
    way{&stats::switches_direct, "▒", ink::blue, "direct switch"},
    way{&stats::switches_via_g0, "░", ink::yellow, "via g0"},
};

struct row {
  std::string name;
  stats figures;
  bool one_proc;  // not a sum of several
};

// How often this P began or went on with a goroutine.
std::uint64_t runs_of(stats const& of) {
  std::uint64_t sum = 0;
  for (way const& each : ways) sum += of.*each.counter;
  return sum;
}

// A row per P. Of a machine with many only the busiest ones, the rest in one row.
std::vector<row> rows_of(std::vector<stats> procs) {
  constexpr std::size_t rows_max = 16;
  std::size_t const alone = procs.size() <= rows_max ? procs.size() : rows_max - 1;
  auto const rest = procs.begin() + static_cast<std::ptrdiff_t>(alone);
  auto const busier = [](stats const& one, stats const& other) { return runs_of(one) > runs_of(other); };
  std::ranges::partial_sort(procs, rest, busier);
  std::ranges::sort(procs.begin(), rest, {}, &stats::id);
  std::vector<row> rows;
  for (stats const& each : std::span(procs).first(alone)) rows.push_back({"P" + std::to_string(each.id), each, true});
  if (alone < procs.size()) rows.push_back({"rest", sum_of({rest, procs.end()}), false});
  return rows;
}

std::size_t widest_name(std::vector<row> const& rows) {
  std::size_t widest = 0;
  for (row const& each : rows) widest = std::max(widest, each.name.size());
  return widest;
}

std::size_t width_of(column const& shown) {
  constexpr std::size_t number_width = 5;  // compact()
  return 1 + std::max({number_width, columns_of(shown.title[0]), columns_of(shown.title[1])});
}

void show_columns(screen& to, std::vector<row> const& rows, std::span<column const> shown) {
  std::size_t const name_width = widest_name(rows);
  for (int title_line : {0, 1}) {
    std::string text = std::string(name_width, ' ');
    for (column const& each : shown) text += pad_left(each.title[title_line], width_of(each));
    to.line(to.painted(ink::faint, text));
  }
  for (row const& each : rows) {
    std::string text = pad_right(each.name, name_width);
    for (column const& one : shown) text += pad_left(compact(each.figures.*one.counter), width_of(one));
    to.line(text);
  }
}

// As long as the share of `width` that the P's runs are of `longest`, in pieces for the ways.
std::string bar_of(screen const& to, stats const& of, std::uint64_t longest, std::size_t width) {
  std::string bar;
  std::uint64_t runs = 0;
  std::size_t drawn = 0;
  for (way const& each : ways) {
    // The ends of the pieces are rounded, not their lengths: so the bar as a whole has its right length.
    runs += of.*each.counter;
    auto const end = static_cast<std::size_t>((runs * width + longest / 2) / longest);
    bar += to.painted(each.colour, repeated(each.block, end - drawn));
    drawn = end;
  }
  return bar + std::string(width - drawn, ' ');
}

void show_legend(screen& to) {
  std::string line;
  std::size_t used = 0;
  for (way const& each : ways) {
    std::size_t const width = 2 + columns_of(each.name);
    if (used != 0 && screen::margin + used + 2 + width > to.columns()) {
      to.line(line);
      line.clear();
      used = 0;
    }
    if (used != 0) line += "  ";
    line.append(to.painted(each.colour, each.block)).append(" ").append(each.name);
    used += 2 + width;
  }
  to.line(line);
}

}  // namespace

void show_table(screen& to, std::vector<stats> const& procs) {
  std::vector<row> rows = rows_of(procs);
  if (procs.size() > 1) rows.push_back({"all", sum_of(procs), false});
  // What does not fit beside the others goes below them.
  std::size_t const room = to.columns() - screen::margin - widest_name(rows);
  for (std::span<column const> left = columns; !left.empty();) {
    std::size_t fit = 0;
    for (std::size_t taken = 0; fit < left.size() && taken + width_of(left[fit]) <= room; ++fit) {
      taken += width_of(left[fit]);
    }
    show_columns(to, rows, left.first(fit));
    left = left.subspan(fit);
  }
}

void show_chart(screen& to, std::vector<stats> const& procs) {
  std::vector<row> const rows = rows_of(procs);
  std::uint64_t longest = 1;
  for (row const& each : rows) {
    if (each.one_proc) longest = std::max(longest, runs_of(each.figures));
  }
  std::uint64_t const all = std::max<std::uint64_t>(1, runs_of(sum_of(procs)));
  std::size_t const name_width = widest_name(rows);
  std::size_t const bar_width = to.columns() - screen::margin - name_width - 14;

  for (row const& each : rows) {
    std::uint64_t const runs = runs_of(each.figures);
    std::string line = pad_right(each.name, name_width) + " ";
    line += each.one_proc ? bar_of(to, each.figures, longest, bar_width) : std::string(bar_width, ' ');
    line += pad_left(compact(runs), 7) + pad_left(std::to_string((runs * 100 + all / 2) / all) + "%", 6);
    to.line(line);
  }
  show_legend(to);
}

}  // namespace tour
