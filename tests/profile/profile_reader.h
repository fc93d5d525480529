// A strict reader of profiles, written from the description of the format (profile.proto of github.com/google/pprof)
// and not from thrum's writer. It throws std::runtime_error for everything that the format does not allow, and for
// everything that thrum does not write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrum::test {

struct profile_frame {
  std::string function;
  std::string file;
  std::int64_t line = 0;
  std::uint64_t address = 0;
};

struct profile_sample {
  std::vector<profile_frame> stack;  // innermost first, with the calls that were inlined
  std::vector<std::uint64_t> addresses;
  std::vector<std::int64_t> values;
  std::map<std::string, std::string> labels;

  [[nodiscard]] bool has(std::string_view function) const {
    return std::any_of(stack.begin(), stack.end(),
                       [&](profile_frame const& f) { return f.function.find(function) != std::string::npos; });
  }
  [[nodiscard]] std::string label(std::string const& key) const {
    auto const found = labels.find(key);
    return found != labels.end() ? found->second : std::string();
  }
};

struct profile_mapping {
  std::uint64_t low = 0, high = 0, offset = 0;
  std::string file, build_id;
  bool has_functions = false;
};

struct read_profile_result {
  using type = std::pair<std::string, std::string>;
  std::vector<type> types;
  std::vector<profile_sample> samples;
  std::vector<profile_mapping> mappings;
  std::vector<std::string> comments;
  type period_type;
  std::int64_t period = 0;
  std::int64_t time_ns = 0;
  std::int64_t duration_ns = 0;
};

namespace profile_reading {

inline void require(bool holds, char const* what) {
  if (!holds) throw std::runtime_error(std::string("not a profile: ") + what);
}

struct field {
  std::uint64_t number = 0;
  bool is_bytes = false;
  std::uint64_t value = 0;
  std::string_view bytes;
};

inline std::uint64_t take_varint(std::string_view& from) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    require(!from.empty(), "a number ends too early");
    auto const byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    require(shift < 63 || byte <= 1, "a number has more than 64 bits");
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) {
      require(byte != 0 || shift == 0, "a number is longer than it has to be");
      return value;
    }
  }
}

inline std::vector<field> fields_of(std::string_view message) {
  std::vector<field> all;
  while (!message.empty()) {
    std::uint64_t const key = take_varint(message);
    field its{.number = key >> 3U, .is_bytes = (key & 7U) == 2, .value = take_varint(message), .bytes = {}};
    require(its.number != 0 && ((key & 7U) == 0 || its.is_bytes), "a field of a type that profiles do not have");
    if (its.is_bytes) {
      require(its.value <= message.size(), "a field ends too late");
      its.bytes = message.substr(0, its.value);
      message.remove_prefix(its.value);
    }
    all.push_back(its);
  }
  return all;
}

// The fields of a message by number. `lists` may come more than once.
class message {
 public:
  message(std::string_view bytes, std::set<std::uint64_t> const& numbers, std::set<std::uint64_t> const& texts,
          std::set<std::uint64_t> const& lists)
      : all_(fields_of(bytes)) {
    std::set<std::uint64_t> seen;
    for (field const& one : all_) {
      require((one.is_bytes ? texts : numbers).contains(one.number), "a field that is not expected there");
      require(seen.insert(one.number).second || lists.contains(one.number), "a field that comes twice");
    }
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t which) const {
    for (field const& one : all_) {
      if (one.number == which) return one.value;
    }
    return 0;
  }
  [[nodiscard]] std::int64_t signed_number(std::uint64_t which) const {
    return static_cast<std::int64_t>(number(which));
  }
  [[nodiscard]] std::vector<field> list(std::uint64_t which) const {
    std::vector<field> found;
    for (field const& one : all_) {
      if (one.number == which) found.push_back(one);
    }
    return found;
  }
  [[nodiscard]] std::vector<std::uint64_t> packed(std::uint64_t which) const {
    std::vector<std::uint64_t> found;
    for (field const& one : list(which)) {
      for (std::string_view rest = one.bytes; !rest.empty();) found.push_back(take_varint(rest));
    }
    return found;
  }

 private:
  std::vector<field> all_;
};

class reader {
 public:
  explicit reader(std::string_view bytes)
      : its_(bytes, {9, 10, 12, 13}, {1, 2, 3, 4, 5, 6, 11}, {1, 2, 3, 4, 5, 6, 13}) {
    for (field const& one : its_.list(6)) texts_.emplace_back(one.bytes);
    require(!texts_.empty() && texts_.front().empty(), "the first text is not the empty one");
    require(std::set(texts_.begin(), texts_.end()).size() == texts_.size(), "a text that comes twice");
    result.time_ns = its_.signed_number(9);
    result.duration_ns = its_.signed_number(10);
    result.period = its_.signed_number(12);
    for (field const& one : its_.list(13)) result.comments.push_back(text(one.value));
    for (field const& one : its_.list(1)) result.types.push_back(type(one.bytes));
    for (field const& one : its_.list(11)) result.period_type = type(one.bytes);
    require(!result.types.empty(), "no type of values");
    read_functions();
    read_mappings();
    read_locations();
    for (field const& one : its_.list(2)) result.samples.push_back(sample(one.bytes));
  }

  read_profile_result result;

 private:
  struct location {
    std::vector<profile_frame> frames;
    std::uint64_t address = 0;
  };

  [[nodiscard]] std::string const& text(std::uint64_t number) const {
    require(number < texts_.size(), "a text that does not exist");
    return texts_[number];
  }
  [[nodiscard]] read_profile_result::type type(std::string_view bytes) const {
    message const its(bytes, {1, 2}, {}, {});
    require(!text(its.number(1)).empty() && !text(its.number(2)).empty(), "a type of values without a name or a unit");
    return {text(its.number(1)), text(its.number(2))};
  }
  void read_functions() {
    for (field const& one : its_.list(5)) {
      message const its(one.bytes, {1, 2, 3, 4, 5}, {}, {});
      require(its.number(1) != 0 && !text(its.number(2)).empty(), "a function without a number or a name");
      require(functions_.emplace(its.number(1), std::pair(text(its.number(2)), text(its.number(4)))).second,
              "two functions with one number");
      require(!text(its.number(3)).empty(), "a function without a system name");
    }
  }
  void read_mappings() {
    std::set<std::uint64_t> numbers;
    for (field const& one : its_.list(3)) {
      message const its(one.bytes, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {}, {});
      require(its.number(1) != 0 && numbers.insert(its.number(1)).second, "mappings without numbers of their own");
      require(its.number(1) == numbers.size(), "mappings out of order");
      require(its.number(2) < its.number(3), "a mapping that is empty");
      require(its.number(8) == its.number(9) && its.number(10) <= its.number(7), "a mapping that knows odd things");
      result.mappings.push_back(
          {its.number(2), its.number(3), its.number(4), text(its.number(5)), text(its.number(6)), its.number(7) != 0});
    }
    for (profile_mapping const& a : result.mappings) {
      for (profile_mapping const& b : result.mappings) {
        require(&a == &b || a.high <= b.low || b.high <= a.low, "mappings that overlap");
      }
    }
  }
  void read_locations() {
    for (field const& one : its_.list(4)) {
      message const its(one.bytes, {1, 2, 3, 5}, {4}, {4});
      location made{.frames = {}, .address = its.number(3)};
      if (std::uint64_t const in = its.number(2)) {
        require(in <= result.mappings.size(), "a mapping that does not exist");
        profile_mapping const& where = result.mappings[in - 1];
        require(made.address >= where.low && made.address < where.high, "an address outside of its mapping");
      }
      for (field const& line : its.list(4)) {
        message const at(line.bytes, {1, 2}, {}, {});
        auto const found = functions_.find(at.number(1));
        require(found != functions_.end(), "a function that does not exist");
        made.frames.push_back({found->second.first, found->second.second, at.signed_number(2), made.address});
      }
      require(made.address != 0 || !made.frames.empty(), "a location without an address and without a function");
      require(its.number(1) != 0 && locations_.emplace(its.number(1), made).second, "locations with one number");
    }
  }
  [[nodiscard]] profile_sample sample(std::string_view bytes) const {
    message const its(bytes, {}, {1, 2, 3}, {3});
    profile_sample made;
    for (std::uint64_t const number : its.packed(1)) {
      auto const found = locations_.find(number);
      require(found != locations_.end(), "a location that does not exist");
      made.addresses.push_back(found->second.address);
      made.stack.insert(made.stack.end(), found->second.frames.begin(), found->second.frames.end());
    }
    require(!made.addresses.empty(), "a sample without a location");
    for (std::uint64_t const value : its.packed(2)) made.values.push_back(static_cast<std::int64_t>(value));
    require(made.values.size() == result.types.size(), "a sample with too many or too few values");
    for (std::int64_t const value : made.values) require(value >= 0, "a value below 0");
    for (field const& one : its.list(3)) {
      message const label(one.bytes, {1, 2}, {}, {});
      require(!text(label.number(1)).empty() && !text(label.number(2)).empty(), "a label without a key or a text");
      require(made.labels.emplace(text(label.number(1)), text(label.number(2))).second, "a label that comes twice");
    }
    return made;
  }

  message const its_;
  std::vector<std::string> texts_;
  std::map<std::uint64_t, std::pair<std::string, std::string>> functions_;
  std::map<std::uint64_t, location> locations_;
};

}  // namespace profile_reading

inline read_profile_result read_profile(std::string_view bytes) { return profile_reading::reader(bytes).result; }

// The sum of the values of the samples that `is_wanted(sample)`.
template <class Wanted>
std::int64_t sum_of(read_profile_result const& from, std::size_t which_value, Wanted is_wanted) {
  std::int64_t sum = 0;
  for (profile_sample const& one : from.samples) {
    if (is_wanted(one)) sum += one.values.at(which_value);
  }
  return sum;
}

}  // namespace thrum::test
