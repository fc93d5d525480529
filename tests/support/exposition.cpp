#include "support/exposition.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

namespace thrum::test {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_metric_name(std::string_view text) {
  auto const is_first = [](char c) { return is_letter(c) || c == ':'; };
  return !text.empty() && is_first(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_first(c) || is_digit(c); });
}

bool is_label_name(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && !text.starts_with("__") &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

// Reads a part of a line from its front.
class cursor {
 public:
  explicit cursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::string_view rest() const { return rest_; }
  bool skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view until(std::string_view ends) {
    std::string_view const part = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(part.size());
    return part;
  }
  // A text in double quotes, in which \\, \" and \n are the only escapes.
  bool quoted(std::string& out) {
    if (!skip('"')) return false;
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() != '\\') {
        out += rest_.front();
      } else {
        rest_.remove_prefix(1);
        if (rest_.empty() || (rest_.front() != '\\' && rest_.front() != '"' && rest_.front() != 'n')) return false;
        out += rest_.front() == 'n' ? '\n' : rest_.front();
      }
      rest_.remove_prefix(1);
    }
    return skip('"');
  }

 private:
  std::string_view rest_;
};

bool read_labels(cursor& at, std::map<std::string, std::string>& out) {
  if (!at.skip('{')) return true;
  if (at.skip('}')) return true;
  do {
    std::string const name(at.until("="));
    std::string value;
    if (!is_label_name(name) || !at.skip('=') || !at.quoted(value) || !out.emplace(name, value).second) return false;
  } while (at.skip(','));
  return at.skip('}');
}

bool read_number(std::string_view text, double& out) {
  if (text == "+Inf" || text == "-Inf" || text == "NaN") {
    double const infinite = std::numeric_limits<double>::infinity();
    out = text == "NaN" ? std::numeric_limits<double>::quiet_NaN() : text == "+Inf" ? infinite : -infinite;
    return true;
  }
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return false;
  std::string const copy(text);
  char* end = nullptr;
  out = std::strtod(copy.c_str(), &end);
  return *end == '\0';
}

// The samples of a histogram have names of their own.
bool belongs_to(exposition_metric const& metric, std::string_view sample) {
  if (metric.type != "histogram") return sample == metric.name;
  return sample == metric.name + "_bucket" || sample == metric.name + "_sum" || sample == metric.name + "_count";
}

}  // namespace

exposition_reader::exposition_reader(std::string_view text) {
  if (!text.empty() && text.back() != '\n') fault("the last line has no end");
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    read_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (exposition_metric const& metric : metrics_) check(metric);
}

exposition_metric const* exposition_reader::find(std::string_view name) const noexcept {
  auto const found = std::find_if(metrics_.begin(), metrics_.end(), [&](auto const& m) { return m.name == name; });
  return found != metrics_.end() ? &*found : nullptr;
}

double exposition_reader::value_of(std::string_view name, std::string_view label,
                                   std::string_view value) const noexcept {
  for (exposition_metric const& metric : metrics_) {
    for (exposition_sample const& sample : metric.samples) {
      if (sample.name != name) continue;
      auto const found = sample.labels.find(std::string(label));
      if (label.empty() || (found != sample.labels.end() && found->second == value)) return sample.value;
    }
  }
  return -1;
}

void exposition_reader::read_line(std::string_view line) {
  if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) return read_comment(line);
  if (line.empty() || line.starts_with("#")) return fault("a line that says nothing: " + std::string(line));
  read_sample(line);
}

void exposition_reader::read_comment(std::string_view line) {
  bool const is_help = line.starts_with("# HELP ");
  cursor at(line.substr(7));
  std::string const name(at.until(" "));
  std::string const text(at.skip(' ') ? at.rest() : std::string_view());
  if (!is_metric_name(name) || text.empty()) return fault("no name or no text: " + std::string(line));
  if (is_help) {
    if (find(name) != nullptr) fault("the metric comes a second time: " + name);
    metrics_.push_back({.name = name, .help = text, .type = {}, .samples = {}});
    return;
  }
  static std::set<std::string> const types = {"counter", "gauge", "histogram", "summary", "untyped"};
  if (!types.contains(text)) fault("no type: " + std::string(line));
  bool const follows = !metrics_.empty() && metrics_.back().name == name && metrics_.back().type.empty();
  if (!follows || !metrics_.back().samples.empty()) return fault("TYPE does not follow its HELP: " + name);
  metrics_.back().type = text;
}

void exposition_reader::read_sample(std::string_view line) {
  cursor at(line);
  exposition_sample sample;
  sample.name = at.until("{ ");
  if (!is_metric_name(sample.name) || !read_labels(at, sample.labels) || !at.skip(' ') ||
      !read_number(at.rest(), sample.value)) {
    return fault("no sample: " + std::string(line));
  }
  if (metrics_.empty() || metrics_.back().type.empty() || !belongs_to(metrics_.back(), sample.name))
    return fault("the sample does not stand below its metric: " + std::string(line));
  for (exposition_sample const& other : metrics_.back().samples) {
    if (other.name == sample.name && other.labels == sample.labels) fault("a sample twice: " + std::string(line));
  }
  metrics_.back().samples.push_back(std::move(sample));
}

void exposition_reader::check(exposition_metric const& metric) {
  if (metric.type.empty()) fault("no TYPE: " + metric.name);
  bool const is_total = metric.name.ends_with("_total");
  if (is_total != (metric.type == "counter"))
    fault("the names of counters, and only these, end in _total: " + metric.name);
  for (exposition_sample const& sample : metric.samples) {
    if (std::isnan(sample.value)) fault("no number: " + sample.name);
    if (metric.type != "gauge" && sample.value < 0) fault("a count is negative: " + sample.name);
  }
  if (metric.type == "histogram") check_histogram(metric);
}

// For histograms without labels of their own.
void exposition_reader::check_histogram(exposition_metric const& metric) {
  double edge = -std::numeric_limits<double>::infinity();
  double below = 0;
  double count = -1;
  bool has_sum = false;
  for (exposition_sample const& sample : metric.samples) {
    if (sample.name.ends_with("_sum")) has_sum = true;
    if (sample.name.ends_with("_count")) count = sample.value;
    if (!sample.name.ends_with("_bucket")) continue;
    double upper = 0;
    auto const le = sample.labels.find("le");
    if (le == sample.labels.end() || !read_number(le->second, upper))
      return fault("a bucket without le: " + metric.name);
    if (upper <= edge) fault("the edges do not ascend: " + metric.name);
    if (sample.value < below) fault("the buckets are not cumulative: " + metric.name);
    edge = upper;
    below = sample.value;
  }
  if (!std::isinf(edge)) fault("no bucket for +Inf: " + metric.name);
  if (below != count) fault("the last bucket is not the count: " + metric.name);
  if (!has_sum) fault("no sum: " + metric.name);
}

}  // namespace thrum::test
