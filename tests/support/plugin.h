// A library that a test loads at run time (support/plugin/plugin.cpp). Its file is in the directory of the test
// program.
#pragma once

#include "support/child.h"

#include <filesystem>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace thrum::test {

inline std::filesystem::path plugin_file() { return this_program().parent_path() / "test_plugin.so"; }

class plugin {
 public:
  explicit plugin(std::filesystem::path const& file = plugin_file())
      : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << ::dlerror();
  }
  ~plugin() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  plugin(plugin const&) = delete;
  plugin& operator=(plugin const&) = delete;

  [[nodiscard]] void* symbol(char const* name) const {
    void* const found = ::dlsym(handle_, name);
    EXPECT_NE(found, nullptr) << name;
    return found;
  }
  // Reads a byte inside the library. Returns 0 if there was none.
  [[nodiscard]] int reads_a_byte(int descriptor) const {
    return reinterpret_cast<int (*)(int)>(symbol("plugin_reads_a_byte"))(descriptor);
  }

 private:
  void* handle_;
};

}  // namespace thrum::test
