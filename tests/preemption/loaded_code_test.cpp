// T03: whose code it is.
#include "os/loaded_code.h"

#include "os/late_code.h"
#include "support/child.h"
#include "support/plugin.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <cxxabi.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

// The emulator of another architecture does not know the call by which it is read. Then all of it may be code.
#define THRUM_SKIP_IF_OBJECTS_CANNOT_BE_READ() \
  if (test::emulated()) GTEST_SKIP() << "an object's code cannot be told from its data"

#define THRUM_SKIP_IF_THE_LOADER_CANNOT_BE_ASKED() \
  if (!loader_can_be_asked) GTEST_SKIP() << "before glibc 2.35 what is loaded later belongs to no object"

namespace thrum::rt::os {
namespace {

std::uintptr_t address_of(void const* place) { return reinterpret_cast<std::uintptr_t>(place); }

void a_function_of_the_test() {}

class loaded_code : public testing::Test {
 protected:
  loaded_code() { note_loaded_code(); }
};

TEST_F(loaded_code, T03_malloc_stdio_the_loader_and_the_unwinder_are_kin_of_the_c_library) {
  // RTLD_NEXT: the tests have a malloc of their own, and so may a sanitizer, which passes on to it.
  for (char const* const name :
       {"malloc", "fprintf", "dl_iterate_phdr", "__tls_get_addr", "__cxa_throw", "_Unwind_RaiseException"}) {
    void* const found = ::dlsym(RTLD_NEXT, name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(owner_of_code(address_of(found)), code_owner::libc_kin) << name;
    EXPECT_FALSE(is_code_of_the_program(address_of(found))) << name;
  }
}

// Allocators ask it for the time while they hold their lock.
TEST_F(loaded_code, T03_the_kernels_own_page_is_known) {
  unsigned long const page = ::getauxval(AT_SYSINFO_EHDR);
  if (page == 0) GTEST_SKIP() << "there is none";
  EXPECT_EQ(owner_of_code(page), code_owner::kernel);
  EXPECT_FALSE(is_code_of_the_program(page));
}

TEST_F(loaded_code, T03_the_executable_is_the_program) {
  auto const here = address_of(reinterpret_cast<void const*>(&a_function_of_the_test));
  EXPECT_EQ(owner_of_code(here), code_owner::program);
  EXPECT_TRUE(is_code_of_the_program(here));
}

TEST_F(loaded_code, T03_what_is_no_code_belongs_to_no_object) {
  THRUM_SKIP_IF_OBJECTS_CANNOT_BE_READ();
  static int in_the_program;
  in_the_program = ::getpid();  // what is never written may lie beside the code
  auto const on_the_heap = std::make_unique<int>();
  int const on_the_stack = 0;
  for (std::uintptr_t const word :
       {address_of(nullptr), address_of(on_the_heap.get()), address_of(&on_the_stack), ~std::uintptr_t{0}}) {
    EXPECT_EQ(owner_of_code(word), code_owner::none) << word;
    EXPECT_FALSE(is_code_of_the_program(word)) << word;
  }
  EXPECT_FALSE(is_code_of_the_program(address_of(&in_the_program)));
}

TEST_F(loaded_code, T03_a_plugin_is_the_program_as_soon_as_it_is_loaded) {
  THRUM_SKIP_IF_OBJECTS_CANNOT_BE_READ();
  THRUM_SKIP_IF_THE_LOADER_CANNOT_BE_ASKED();
  std::uintptr_t code = 0;
  bool stays = false;
  {
    test::plugin const loaded;
    code = address_of(loaded.symbol("plugin_reads_a_byte"));
    EXPECT_EQ(owner_of_code(code), code_owner::program);
    EXPECT_TRUE(is_code_of_the_program(code));
    EXPECT_FALSE(is_code_of_the_program(address_of(loaded.symbol("plugin_data")))) << "no place of a call";
  }
  if (void* const again = ::dlopen(test::plugin_file().c_str(), RTLD_NOW | RTLD_NOLOAD)) {
    stays = true;  // a sanitizer may keep it
    ::dlclose(again);
  }
  EXPECT_EQ(owner_of_code(code), stays ? code_owner::program : code_owner::none);
}

// As the C library loads the unwinder's library when it first needs it.
TEST_F(loaded_code, T03_kin_that_is_loaded_later_is_known_by_its_name) {
  THRUM_SKIP_IF_THE_LOADER_CANNOT_BE_ASKED();
  namespace fs = std::filesystem;
  fs::path const copy = fs::temp_directory_path() / ("libunwind-of-test-" + std::to_string(::getpid()) + ".so");
  fs::copy_file(test::plugin_file(), copy, fs::copy_options::overwrite_existing);
  {
    test::plugin const loaded(copy);
    EXPECT_EQ(owner_of_code(address_of(loaded.symbol("plugin_reads_a_byte"))), code_owner::libc_kin);
  }
  fs::remove(copy);
}

}  // namespace
}  // namespace thrum::rt::os
