#include "debug/profile_builder.h"

#include "debug/program_places.h"

#include <algorithm>
#include <chrono>

namespace thrum::rt {
namespace {

// The fields of profile.proto.
namespace of_profile {
constexpr protobuf::field sample_type = 1, sample = 2, mapping = 3, location = 4, function = 5, text = 6, time = 9,
                          duration = 10, period_type = 11, period = 12, comment = 13;
}  // namespace of_profile
namespace of_value_type {
constexpr protobuf::field type = 1, unit = 2;
}  // namespace of_value_type
namespace of_sample {
constexpr protobuf::field locations = 1, values = 2, label = 3;
}  // namespace of_sample
namespace of_label {
constexpr protobuf::field key = 1, text = 2;
}  // namespace of_label
namespace of_mapping {
constexpr protobuf::field number = 1, low = 2, high = 3, offset = 4, file = 5, build_id = 6, has_functions = 7,
                          has_files = 8, has_lines = 9, has_inlined = 10;
}  // namespace of_mapping
namespace of_location {
constexpr protobuf::field number = 1, mapping = 2, address = 3, line = 4;
}  // namespace of_location
namespace of_line {
constexpr protobuf::field function = 1, line = 2;
}  // namespace of_line
namespace of_function {
constexpr protobuf::field number = 1, name = 2, system_name = 3, file = 4;
}  // namespace of_function

std::string hexadecimal_digits(std::vector<std::byte> const& bytes) {
  constexpr char const* digits = "0123456789abcdef";
  std::string text;
  for (std::byte const byte : bytes) {
    text += digits[std::to_integer<unsigned>(byte) >> 4U];
    text += digits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

// pprof cuts names at the first parenthesis, so the name of a function must not begin with one. Copies of a function
// that the compiler has made for some callers are the same function to a reader.
std::string readable(std::string name) {
  constexpr std::string_view nameless = "(anonymous namespace)::";
  for (std::size_t at = name.find(nameless); at != std::string::npos; at = name.find(nameless, at)) {
    name.erase(at, nameless.size());
  }
  return name.substr(0, name.find(" [clone "));
}

}  // namespace

profile_builder::profile_builder(symbols& known, shown which, std::initializer_list<value_type> values)
    : known_(known), which_(which) {
  static_cast<void>(text(""));  // text 0 has to be the empty one
  for (loaded_module const& module : modules_) {
    for (code_segment const& segment : module.code) mappings_.push_back({.module = &module, .segment = segment});
  }
  for (value_type const& type : values) profile_.part(of_profile::sample_type, encoded(type));
  auto const now = std::chrono::system_clock::now().time_since_epoch();  // for people only
  profile_.number(of_profile::time, static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()));
}

void profile_builder::set_period(value_type what, std::int64_t period) {
  profile_.part(of_profile::period_type, encoded(what));
  profile_.number(of_profile::period, static_cast<std::uint64_t>(period));
}

void profile_builder::set_duration_ns(std::int64_t ns) {
  profile_.number(of_profile::duration, static_cast<std::uint64_t>(ns));
}

void profile_builder::add_comment(std::string_view comment) {
  profile_.number_even_if_0(of_profile::comment, text(comment));
}

std::uint64_t profile_builder::text(std::string_view of) {
  auto const [found, is_new] = texts_.emplace(of, texts_.size());
  if (is_new) texts_in_order_.push_back(&found->first);
  return found->second;
}

protobuf profile_builder::encoded(value_type const& type) {
  protobuf its;
  its.number(of_value_type::type, text(type.what));
  its.number(of_value_type::unit, text(type.unit));
  return its;
}

std::uint64_t profile_builder::function(std::string const& name, std::string const& file) {
  auto const [found, is_new] = functions_.emplace(std::tuple(name, file), functions_.size() + 1);
  if (is_new) {
    protobuf its;
    its.number(of_function::number, found->second);
    its.number(of_function::name, text(name));
    its.number(of_function::system_name, text(name));
    its.number(of_function::file, text(file));
    profile_.part(of_profile::function, its);
  }
  return found->second;
}

std::size_t profile_builder::mapping_of(std::uintptr_t pc) const noexcept {
  auto const found = std::find_if(mappings_.begin(), mappings_.end(),
                                  [&](mapping const& m) { return pc >= m.segment.low && pc < m.segment.high; });
  return static_cast<std::size_t>(found - mappings_.begin());
}

profile_builder::location profile_builder::location_of(std::uintptr_t pc) {
  auto const [found, is_new] = locations_.emplace(pc, location());
  if (!is_new) return found->second;
  location& result = found->second;
  protobuf its;
  std::size_t const in = mapping_of(pc);
  bool has_line = false;
  if (known_.reads_files()) {
    auto const& places = known_.places_of(pc);
    bool const is_of_program =
        std::any_of(places.begin(), places.end(), [](code_place const& place) { return !is_plumbing(place); });
    result.is_plumbing = !is_of_program;
    if (result.is_plumbing && which_ == shown::program_alone) return result;
    for (code_place const& place : places) {
      if (which_ == shown::program_alone && is_plumbing(place)) continue;
      protobuf line;
      line.number(of_line::function, function(readable(place.function), place.line != 0 ? place.file : std::string()));
      line.number(of_line::line, static_cast<std::uint64_t>(std::max(place.line, 0)));
      its.part(of_location::line, line);
      has_line = has_line || place.line > 0;
    }
    if (in < mappings_.size()) {
      mappings_[in].has_functions = true;
      mappings_[in].has_lines = mappings_[in].has_lines || has_line;
      mappings_[in].has_inlined = mappings_[in].has_inlined || places.size() > 1;
    }
  }
  result.number = ++location_count_;
  its.number(of_location::number, result.number);
  if (in < mappings_.size()) its.number(of_location::mapping, in + 1);
  its.number(of_location::address, pc);
  profile_.part(of_profile::location, its);
  return result;
}

void profile_builder::add_sample(std::span<std::uint64_t const> locations, std::span<std::int64_t const> values,
                                 std::initializer_list<label> labels) {
  protobuf its;
  its.numbers(of_sample::locations, locations);
  its.numbers(of_sample::values, values);
  for (label const& one : labels) {
    if (one.text.empty()) continue;
    protobuf encoded;
    encoded.number(of_label::key, text(one.key));
    encoded.number(of_label::text, text(one.text));
    its.part(of_sample::label, encoded);
  }
  profile_.part(of_profile::sample, its);
}

void profile_builder::add(std::span<std::uintptr_t const> stack, std::span<std::int64_t const> values,
                          std::initializer_list<label> labels) {
  std::vector<std::uint64_t> numbers;
  std::size_t of_program = 0;  // as many of them as reach the outermost one that is the program's
  for (std::uintptr_t const pc : stack) {
    location const at = location_of(pc);
    if (at.number != 0) numbers.push_back(at.number);
    if (!at.is_plumbing) of_program = numbers.size();
  }
  if (of_program != 0) numbers.resize(of_program);
  if (numbers.empty()) {
    add_named("thrum", values, labels);
  } else {
    add_sample(numbers, values, labels);
  }
}

void profile_builder::add_named(std::string_view name, std::span<std::int64_t const> values,
                                std::initializer_list<label> labels) {
  auto const [found, is_new] = named_locations_.emplace(name, location_count_ + 1);
  if (is_new) {
    ++location_count_;
    protobuf line;
    line.number(of_line::function, function(found->first, {}));
    protobuf its;
    its.number(of_location::number, found->second);
    its.part(of_location::line, line);
    profile_.part(of_profile::location, its);
  }
  add_sample(std::span(&found->second, 1), values, labels);
}

std::string const& profile_builder::site(std::uintptr_t address) {
  auto const [found, is_new] = sites_.emplace(address, std::string());
  if (is_new && address != 0) found->second = name_of_site(place_of_user(known_.places_of(address - 1)));
  return found->second;
}

void profile_builder::write_mappings() {
  std::uint64_t number = 0;
  for (mapping const& m : mappings_) {
    protobuf its;
    its.number(of_mapping::number, ++number);
    its.number(of_mapping::low, m.segment.low);
    its.number(of_mapping::high, m.segment.high);
    its.number(of_mapping::offset, m.segment.offset);
    its.number(of_mapping::file, text(m.module->path));
    its.number(of_mapping::build_id, text(hexadecimal_digits(m.module->build_id)));
    its.number(of_mapping::has_functions, m.has_functions ? 1 : 0);
    its.number(of_mapping::has_files, m.has_lines ? 1 : 0);
    its.number(of_mapping::has_lines, m.has_lines ? 1 : 0);
    its.number(of_mapping::has_inlined, m.has_inlined ? 1 : 0);
    profile_.part(of_profile::mapping, its);
  }
}

std::string profile_builder::finish() {
  write_mappings();
  for (std::string const* one : texts_in_order_) profile_.text(of_profile::text, *one);
  return profile_.take();
}

}  // namespace thrum::rt
