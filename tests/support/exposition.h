// A strict reader of Prometheus' text exposition format, version 0.0.4. It was written from the format's description
// and knows nothing of thrum's writer. It also checks what clients are advised to do: each metric has HELP and TYPE,
// its samples stand together, a counter's name ends in _total and a counter is not negative.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace thrum::test {

struct exposition_sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct exposition_metric {
  std::string name;
  std::string help;
  std::string type;
  std::vector<exposition_sample> samples;
};

class exposition_reader {
 public:
  explicit exposition_reader(std::string_view text);

  // Empty: the text is what the format and its conventions ask for.
  [[nodiscard]] std::vector<std::string> const& faults() const noexcept { return faults_; }
  [[nodiscard]] std::vector<exposition_metric> const& metrics() const noexcept { return metrics_; }
  // nullptr: there is none.
  [[nodiscard]] exposition_metric const* find(std::string_view name) const noexcept;
  // The value of the sample with this name, and with this label if one is given. -1: there is none.
  [[nodiscard]] double value_of(std::string_view name, std::string_view label = {},
                                std::string_view value = {}) const noexcept;

 private:
  void read_line(std::string_view line);
  void read_comment(std::string_view line);
  void read_sample(std::string_view line);
  void check(exposition_metric const& metric);
  void check_histogram(exposition_metric const& metric);
  void fault(std::string text) { faults_.push_back(std::move(text)); }

  std::vector<std::string> faults_;
  std::vector<exposition_metric> metrics_;
};

}  // namespace thrum::test
