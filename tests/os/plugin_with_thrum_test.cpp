// A plugin that brings thrum with it, linked statically or as a shared library, is not unloaded by dlclose: threads of
// thrum run its code and signal handlers point to it for good.
#include "base/platform.h"
#include "support/child.h"

#include <csignal>
#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

namespace thrum::test {
namespace {

constexpr ElfW(Xword) flag_nodelete = 0x8;  // DF_1_NODELETE, of DT_FLAGS_1

// Whether the object that has this address is linked with -z nodelete. A library that gcc has compiled may stay loaded
// without it, by its unique symbols.
bool is_never_unloaded(void const* address) {
  Dl_info of{};
  link_map* object = nullptr;
  if (::dladdr1(address, &of, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0) return false;
  for (auto const* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_FLAGS_1) return (entry->d_un.d_val & flag_nodelete) != 0;
  }
  return false;
}

class plugin_with_thrum : public testing::TestWithParam<char const*> {};

TEST_P(plugin_with_thrum, stays_loaded_after_dlclose_and_can_be_opened_again) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizer takes a second thrum in the process for an error";
  std::filesystem::path const file = this_program().parent_path() / GetParam();
  for (int i = 0; i < 3; ++i) {
    void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << ::dlerror();
    auto const runs = reinterpret_cast<int (*)(int)>(::dlsym(handle, "plugin_runs_goroutines"));
    auto const where = reinterpret_cast<void const* const* (*)()>(::dlsym(handle, "plugin_addresses_in_thrum"));
    ASSERT_TRUE(runs != nullptr && where != nullptr);
    EXPECT_EQ(runs(i), i + 1);
    void const* const* in_thrum = where();
    EXPECT_EQ(::dlclose(handle), 0);
    for (int at = 0; in_thrum[at] != nullptr; ++at) EXPECT_TRUE(is_never_unloaded(in_thrum[at])) << at;
    ASSERT_EQ(::raise(SIGURG), 0);  // the action of the preemption signal may be thrum's
  }
}

INSTANTIATE_TEST_SUITE_P(alone, plugin_with_thrum, testing::Values("test_plugin_with_thrum.so"),
                         [](auto const&) { return std::string("thrum"); });
INSTANTIATE_TEST_SUITE_P(with, plugin_with_thrum, testing::Values("test_plugin_with_posix.so"),
                         [](auto const&) { return std::string("posix_locks"); });

}  // namespace
}  // namespace thrum::test
