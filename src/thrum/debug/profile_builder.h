// Builds a profile in the format that `go tool pprof` reads (profile.proto of github.com/google/pprof).
//
// Names and lines come from the debug information of the program, if libdw is there. If it is not, the profile contains
// addresses and where the files of the program were loaded, and pprof looks the names up itself.
//
// Uses `symbols`, so it runs where debug/symbols.h allows that. Used by one thread at a time.
#pragma once

#include "debug/loaded_modules.h"
#include "debug/protobuf.h"
#include "debug/symbols.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace thrum::rt {

class profile_builder {
 public:
  struct value_type {
    std::string_view what;
    std::string_view unit;
  };
  // An empty text is left out.
  struct label {
    std::string_view key;
    std::string_view text;
  };
  // Which functions of thrum and of the standard library a profile shows.
  enum class shown : bool {
    program_alone,  // none, because they only say how a goroutine waits
    where_they_run  // all but those that call the goroutine's first function
  };

  profile_builder(symbols& known, shown which, std::initializer_list<value_type> values);

  void set_period(value_type what, std::int64_t period);
  void set_duration_ns(std::int64_t ns);
  void add_comment(std::string_view text);

  // The program counters of a stack as walk_stack gives them, innermost first. One value for each value type.
  void add(std::span<std::uintptr_t const> stack, std::span<std::int64_t const> values,
           std::initializer_list<label> labels);
  // A sample whose stack is not known. `name` stands in place of a function.
  void add_named(std::string_view name, std::span<std::int64_t const> values, std::initializer_list<label> labels = {});

  // The creation site of a goroutine as a label: "serve(int) (server.cpp:12)". `address` is the return address of the
  // call that made it. Empty if it is 0.
  [[nodiscard]] std::string const& site(std::uintptr_t address);

  // The file. Not to be used after this.
  [[nodiscard]] std::string finish();

 private:
  struct location {
    std::uint64_t number = 0;  // 0: it is not shown
    bool is_plumbing = false;  // nothing there is the program's
  };

  [[nodiscard]] std::uint64_t text(std::string_view of);
  [[nodiscard]] protobuf encoded(value_type const& type);
  [[nodiscard]] std::uint64_t function(std::string const& name, std::string const& file);
  [[nodiscard]] location location_of(std::uintptr_t pc);
  [[nodiscard]] std::size_t mapping_of(std::uintptr_t pc) const noexcept;
  void add_sample(std::span<std::uint64_t const> locations, std::span<std::int64_t const> values,
                  std::initializer_list<label> labels);
  void write_mappings();

  // What is known about the places in a mapping. pprof looks up itself what is missing.
  struct mapping {
    loaded_module const* module = nullptr;
    code_segment segment;
    bool has_functions = false;
    bool has_lines = false;
    bool has_inlined = false;
  };

  symbols& known_;
  shown const which_;
  std::vector<loaded_module> const modules_ = loaded_modules();
  std::vector<mapping> mappings_;
  protobuf profile_;
  std::unordered_map<std::string, std::uint64_t> texts_;
  std::vector<std::string const*> texts_in_order_;
  std::map<std::tuple<std::string, std::string>, std::uint64_t> functions_;
  std::unordered_map<std::uintptr_t, location> locations_;
  std::unordered_map<std::string, std::uint64_t> named_locations_;
  std::unordered_map<std::uintptr_t, std::string> sites_;
  std::uint64_t location_count_ = 0;
};

}  // namespace thrum::rt
