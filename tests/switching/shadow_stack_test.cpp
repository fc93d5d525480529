// T09: no object of the library says that it can live with a shadow stack, and all say that they have landing pads.
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace thrum {
namespace {

std::string output_of(std::string const& command) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

std::size_t occurrences(std::string const& text, std::string const& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(elf_properties, T09_no_object_claims_a_shadow_stack_and_all_have_landing_pads) {
  // build/bin/test_switching stands beside build/src/thrum/libthrum.a
  auto const library =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "src" / "thrum" / "libthrum.a";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "no static library at " << library;
  if (output_of("readelf --version 2>/dev/null").empty()) GTEST_SKIP() << "readelf (binutils) is not installed";
  std::string const notes = output_of("readelf -nW '" + library.string() + "' 2>&1");
  std::size_t const objects = occurrences(notes, "File: ");
  ASSERT_GT(objects, 20U) << notes.substr(0, 2000);
  EXPECT_EQ(occurrences(notes, "SHSTK"), 0U);
  EXPECT_EQ(occurrences(notes, "GCS"), 0U);
#if defined(__aarch64__)
  EXPECT_EQ(occurrences(notes, "BTI"), objects) << "bti landing pads";
#else
  EXPECT_EQ(occurrences(notes, "IBT"), objects) << "endbr64 landing pads";
#endif
}

}  // namespace
}  // namespace thrum
