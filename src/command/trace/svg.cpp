#include "command/trace/svg.h"

#include "command/trace/names.h"
#include "command/trace/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

namespace thrum::command {
namespace {

using ull = unsigned long long;

constexpr std::size_t lanes_max = 64;
constexpr std::size_t elements_max = 10'000;
constexpr double left_px = 60, width_px = 1200, right_px = 20;
constexpr double lane_px = 26, bar_px = 20, top_px = 50;

// The last colour is for all places that have none of their own.
constexpr std::array colours{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
                             "#e69f00", "#117755", "#9966cc", "#994422", "#999999"};
constexpr std::size_t colour_of_others = colours.size() - 1;

std::string escaped(std::string_view from) {
  std::string result;
  for (char const c : from) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

class picture {
 public:
  explicit picture(trace const& from)
      : past_(from.past),
        names_(from.file, from.past),
        ns_(std::max<double>(static_cast<double>(past_.end - past_.begin), 1)) {}

  std::string draw() {
    choose_colours();
    choose_lanes();
    double const lanes = static_cast<double>(lanes_.size());
    axis_px_ = top_px + lanes * lane_px + 6;
    double const height = axis_px_ + 50 + 18 * static_cast<double>(legend_.size());
    out_ = text(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        left_px + width_px + right_px, height);
    out_ += text("<text x=\"10\" y=\"24\" font-size=\"15\">The goroutines on %zu Ps, %s</text>\n", lanes_.size(),
                 duration(static_cast<double>(past_.end - past_.begin)).c_str());
    if (ps_left_out_ != 0) out_ += text("<text x=\"400\" y=\"24\">%zu more Ps are left out</text>\n", ps_left_out_);
    draw_lanes();
    draw_axis();
    draw_legend();
    return out_ + "</svg>\n";
  }

 private:
  // The places where most of the running goroutines were created get a colour each.
  void choose_colours() {
    std::map<std::string, double> running;
    for (g_interval const& each : past_.intervals) {
      if (each.state == g_state::running && each.p != no_p) running[name_of(each)] += static_cast<double>(each.ns());
    }
    legend_.assign(running.begin(), running.end());
    std::stable_sort(legend_.begin(), legend_.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    for (std::size_t i = 0; i < legend_.size(); ++i) colour_of_[legend_[i].first] = std::min(i, colour_of_others);
    if (legend_.size() > colours.size()) {
      std::size_t const others = legend_.size() - colour_of_others;
      legend_.resize(colours.size());
      legend_.back().first = text("%zu other places", others);
    }
  }

  [[nodiscard]] std::string const& name_of(g_interval const& each) {
    return names_.of_creation(past_.goroutines[each.goroutine]);
  }

  void choose_lanes() {
    std::map<std::uint16_t, std::vector<g_interval const*>> all;
    for (p_interval const& each : past_.p_intervals) all[each.p];
    for (g_interval const& each : past_.intervals) {
      if (each.state == g_state::running && each.p != no_p) all[each.p].push_back(&each);
    }
    for (auto& [p, slices] : all) {
      if (lanes_.size() == lanes_max) break;
      std::stable_sort(slices.begin(), slices.end(), [](auto a, auto b) { return a->begin < b->begin; });
      lanes_.emplace_back(p, std::move(slices));
    }
    ps_left_out_ = all.size() - lanes_.size();
    column_px_ = std::max(1.0, std::ceil(static_cast<double>(lanes_.size()) * width_px * 2 / elements_max));
  }

  [[nodiscard]] double x_of(std::int64_t ns) const noexcept {
    return static_cast<double>(ns - past_.begin) / ns_ * width_px;
  }

  void draw_lanes() {
    double y = top_px;
    for (auto const& [p, slices] : lanes_) {
      out_ += text("<text x=\"10\" y=\"%.0f\">P %u</text>\n", y + 15, p);
      out_ += text("<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"#eeeeee\"/>\n", left_px, y,
                   width_px, bar_px);
      draw_slices(slices, y);
      y += lane_px;
    }
  }

  void draw_slices(std::vector<g_interval const*> const& slices, double y) {
    // What the narrow slices cover of each column, by colour.
    std::map<std::size_t, std::array<double, colours.size()>> columns;
    double drawn_until = 0;
    for (g_interval const* const each : slices) {
      double const x = x_of(each->begin);
      double const width = x_of(each->end) - x;
      std::size_t const colour = colour_of_.at(name_of(*each));
      // In a damaged file slices of one P may overlap, so that there is no bound for the number of wide ones.
      if (width >= column_px_ && x >= drawn_until - column_px_ / 2) {
        draw_slice(*each, x, y, width, colour);
        drawn_until = x + width;
      } else {
        columns[static_cast<std::size_t>(x / column_px_)][colour] += width;
      }
    }
    for (auto const& [column, widths] : columns) {
      auto const most = static_cast<std::size_t>(std::max_element(widths.begin(), widths.end()) - widths.begin());
      double covered = 0;
      for (double const each : widths) covered += each;
      out_ += text("<rect x=\"%.1f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"%s\" opacity=\"%.2f\"/>\n",
                   left_px + static_cast<double>(column) * column_px_, y, column_px_, bar_px, colours[most],
                   std::clamp(covered / column_px_, 0.15, 1.0));
    }
  }

  void draw_slice(g_interval const& slice, double x, double y, double width, std::size_t colour) {
    goroutine_life const& goroutine = past_.goroutines[slice.goroutine];
    std::string const about = text("goroutine %llu, ", ull{goroutine.number}) + names_.of_goroutine(goroutine) + ", " +
                              duration(static_cast<double>(slice.ns()));
    out_ += text("<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" fill=\"%s\"><title>%s</title></rect>\n",
                 left_px + x, y, width, bar_px, colours[colour], escaped(about).c_str());
  }

  // Marks at round times, about ten of them.
  void draw_axis() {
    double const step_of_ten = std::pow(10, std::floor(std::log10(ns_ / 5)));
    double const per_step = ns_ / 5 / step_of_ten;
    double const step = step_of_ten * (per_step >= 5 ? 5 : per_step >= 2 ? 2 : 1);
    out_ += text("<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\" stroke=\"#333333\"/>\n", left_px, axis_px_,
                 left_px + width_px, axis_px_);
    for (int i = 0; i * step <= ns_; ++i) {
      double const x = left_px + i * step / ns_ * width_px;
      out_ += text("<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"#333333\"/>\n", x, axis_px_, x,
                   axis_px_ + 5);
      out_ += text("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n", x, axis_px_ + 19,
                   i == 0 ? "0" : duration(i * step).c_str());
    }
  }

  void draw_legend() {
    double y = axis_px_ + 36;
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      out_ += text("<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", left_px, y, colours[i]);
      out_ += text("<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", left_px + 20, y + 11, escaped(legend_[i].first).c_str());
      y += 18;
    }
  }

  history const& past_;
  names names_;
  double ns_;  // the length of the trace, at least 1
  double axis_px_ = 0;
  double column_px_ = 1;
  std::vector<std::pair<std::string, double>> legend_;  // with the running time
  std::unordered_map<std::string, std::size_t> colour_of_;
  std::vector<std::pair<std::uint16_t, std::vector<g_interval const*>>> lanes_;
  std::size_t ps_left_out_ = 0;
  std::string out_;
};

}  // namespace

std::string as_svg(trace const& from) { return picture(from).draw(); }

}  // namespace thrum::command
