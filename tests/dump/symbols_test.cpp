// From a program counter to the text of a report.
#include "debug/symbols.h"

#include "base/platform.h"
#include "debug/program_places.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

constexpr int first_line = __LINE__;

// Where it was called from: an address within the call.
THRUM_OPAQUE std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1; }

template <class Number>
THRUM_OPAQUE std::uintptr_t known_function(Number) {
  std::uintptr_t const pc = here();
  asm volatile("" ::: "memory");
  return pc;
}

[[gnu::always_inline]] inline std::uintptr_t inlined_inner() {
  std::uintptr_t const pc = here();
  asm volatile("" ::: "memory");
  return pc;
}
[[gnu::always_inline]] inline std::uintptr_t inlined_outer() { return inlined_inner(); }
THRUM_OPAQUE std::uintptr_t function_with_inlined_calls() { return inlined_outer(); }

// The code is a lambda's, which stands in a template of which there is no code.
template <class Function>
[[gnu::always_inline]] inline std::uintptr_t call_as_a_function_pointer(Function) {
  std::uintptr_t (*volatile const pointer)() = [] { return inlined_outer(); };
  return pointer();
}

constexpr int last_line = __LINE__;

bool ends_with(std::string const& text, std::string const& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

void expect_in_this_file(code_place const& place) {
  EXPECT_TRUE(ends_with(place.file, "symbols_test.cpp")) << place.file;
  EXPECT_GT(place.line, first_line);
  EXPECT_LT(place.line, last_line);
}

TEST(program_places, the_type_that_a_template_returns_is_no_part_of_its_name) {
  constexpr auto name_of = without_return_type;
  EXPECT_EQ(name_of("long thrum::rt::io_call::perform<thrum::(anonymous namespace)::read_once::{lambda(int)#1}>(int)"),
            "thrum::rt::io_call::perform<thrum::(anonymous namespace)::read_once::{lambda(int)#1}>(int)");
  EXPECT_EQ(name_of("std::pair<int, long> program::f<int, long>(std::pair<int, long> const&)"),
            "program::f<int, long>(std::pair<int, long> const&)");
  EXPECT_EQ(name_of("(anonymous namespace)::g(int, int) const"), "(anonymous namespace)::g(int, int) const");
  EXPECT_EQ(name_of("program::h(int)::{lambda(int, int)#1}::operator()(int, int) const"),
            "program::h(int)::{lambda(int, int)#1}::operator()(int, int) const");
  EXPECT_EQ(name_of("bool program::operator< <int>(program::x<int>)"), "program::operator< <int>(program::x<int>)");
  EXPECT_EQ(name_of("operator new(unsigned long)"), "operator new(unsigned long)");
  EXPECT_EQ(name_of("decltype(auto) thrum::detail::call<int>(int&)"), "thrum::detail::call<int>(int&)");
  EXPECT_EQ(name_of("main [clone .cold]"), "main [clone .cold]");
  EXPECT_EQ(name_of("main"), "main");
  EXPECT_EQ(name_of(""), "");
}

TEST(symbols, a_function_is_named_with_its_file_and_line) {
  symbols known;
  if (!known.reads_files()) GTEST_SKIP() << "no libdw";
  auto const& places = known.places_of(known_function(1));
  ASSERT_EQ(places.size(), 1U);
  EXPECT_TRUE(contains(places[0].function, "known_function<int>(int)")) << places[0].function;
  expect_in_this_file(places[0]);
  EXPECT_GT(places[0].offset, 0U);
  EXPECT_LT(places[0].offset, 400U);
}

TEST(symbols, a_place_that_is_known_needs_no_files) {
  symbols known;
  if (!known.reads_files()) GTEST_SKIP() << "no libdw";
  std::string const first = known.lines_of(known_function(1));
  known.close_files(100);
  EXPECT_EQ(known.lines_of(known_function(1)), first);
  EXPECT_FALSE(known.has_open_files());
  EXPECT_TRUE(contains(known.lines_of(function_with_inlined_calls()), "inlined_inner("));
  EXPECT_TRUE(known.has_open_files());
  known.close_files(1);  // two are known
  EXPECT_EQ(known.lines_of(known_function(1)), first);
  EXPECT_TRUE(known.has_open_files());
}

TEST(symbols, places_are_forgotten_when_a_library_is_unloaded) {
  symbols known;
  if (!known.reads_files()) GTEST_SKIP() << "no libdw";
  known.forget_if_unloaded();
  std::string const first = known.lines_of(known_function(1));
  known.close_files(100);
  known.forget_if_unloaded();
  EXPECT_EQ(known.lines_of(known_function(1)), first);
  EXPECT_FALSE(known.has_open_files()) << "no library has been unloaded";
  void* const library = ::dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || ::dlclose(library) != 0) GTEST_SKIP() << "there is no library that can be unloaded";
  known.forget_if_unloaded();
  EXPECT_EQ(known.lines_of(known_function(1)), first);
  EXPECT_TRUE(known.has_open_files());
}

TEST(symbols, calls_that_were_inlined_are_shown_innermost_first) {
  symbols known;
  if (!known.reads_files()) GTEST_SKIP() << "no libdw";
  auto const& places = known.places_of(function_with_inlined_calls());
  ASSERT_EQ(places.size(), 3U) << known.lines_of(function_with_inlined_calls());
  EXPECT_TRUE(contains(places[0].function, "inlined_inner(")) << places[0].function;
  EXPECT_TRUE(contains(places[1].function, "inlined_outer(")) << places[1].function;
  EXPECT_TRUE(contains(places[2].function, "function_with_inlined_calls(")) << places[2].function;
  for (code_place const& place : places) expect_in_this_file(place);
  EXPECT_LT(places[0].line, places[1].line);
  EXPECT_LT(places[1].line, places[2].line);
}

TEST(symbols, a_lambda_in_a_template_is_found) {
  symbols known;
  if (!known.reads_files()) GTEST_SKIP() << "no libdw";
  auto const& places = known.places_of(call_as_a_function_pointer([] {}));
  ASSERT_GE(places.size(), 3U);
  EXPECT_TRUE(contains(places[0].function, "inlined_inner(")) << places[0].function;
  EXPECT_TRUE(contains(places[1].function, "inlined_outer(")) << places[1].function;
  EXPECT_TRUE(contains(places.back().function, "call_as_a_function_pointer<")) << places.back().function;
  for (code_place const& place : places) expect_in_this_file(place);
}

TEST(symbols, without_debug_information_there_is_a_name_or_a_file_with_an_offset) {
  symbols known(symbols::source::loader);
  auto const& places = known.places_of(known_function(1));
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].line, 0);
  EXPECT_TRUE(contains(places[0].function, "known_function") || contains(places[0].function, "test_dump+0x"))
      << places[0].function;
}

TEST(symbols, a_function_of_the_c_library_is_named) {
  auto* const function = &std::fputs;
  for (auto const source : {symbols::source::debug_information, symbols::source::loader}) {
    symbols known(source);
    code_place const place = known.places_of(reinterpret_cast<std::uintptr_t>(function) + 1).back();
    EXPECT_TRUE(contains(place.function, "fputs")) << place.function;
    EXPECT_FALSE(place.file.empty());
  }
}

TEST(symbols, an_address_that_is_no_code_is_printed_as_it_is) {
  for (auto const source : {symbols::source::debug_information, symbols::source::loader}) {
    symbols known(source);
    EXPECT_EQ(known.lines_of(0x10), "0x10\n");
    EXPECT_EQ(known.lines_of(0), "0x0\n");
  }
}

TEST(symbols, a_place_is_two_lines_or_one) {
  EXPECT_EQ(lines_of(code_place{"f(int)", "/there/f.cpp", 12, 28}), "f(int)\n\t/there/f.cpp:12 +0x1c\n");
  EXPECT_EQ(lines_of(code_place{"f(int)", "/there/libf.so", 0, 28}), "f(int)\n\t/there/libf.so +0x1c\n");
  EXPECT_EQ(lines_of(code_place{"/there/libf.so+0x1c", "", 0, 0}), "/there/libf.so+0x1c\n");
}

TEST(symbols, a_report_is_made_on_a_thread_with_room) {
  struct seen {
    std::thread::id thread;
    std::string lines;
  } report;
  with_symbols(
      [](symbols& known, void* out) noexcept {
        auto& result = *static_cast<seen*>(out);
        result.thread = std::this_thread::get_id();
        result.lines = known.lines_of(known_function(1));
      },
      &report);
  EXPECT_NE(report.thread, std::this_thread::get_id());
  EXPECT_FALSE(report.lines.empty());
}

TEST(symbols, a_place_is_looked_up_once) {
  symbols known;
  auto const pc = known_function(1);
  EXPECT_EQ(&known.places_of(pc), &known.places_of(pc));
  EXPECT_EQ(known.lines_of(pc), known.lines_of(pc));
}

}  // namespace
}  // namespace thrum::rt
