// On a machine without libdw, a report has the goroutines and their addresses, and says which package adds names and
// lines.
//
// This program replaces dlopen, so that libdw cannot be loaded when a test wants that.
#include "support/fatal.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

std::atomic<bool> libdw_is_missing{false};

}  // namespace

extern "C" void* dlopen(char const* name, int how) noexcept {
  if (libdw_is_missing && name != nullptr && std::strncmp(name, "libdw.", 6) == 0) return nullptr;
  using signature = void* (*)(char const*, int);
  static auto const next = reinterpret_cast<signature>(::dlsym(RTLD_NEXT, "dlopen"));
  return next(name, how);
}

namespace thrum {
namespace {

// In a process of its own, in which libdw has not been loaded.
class without_libdw : public test::fatal_test {};

constexpr char const* names_the_packages =
    "goroutine 1 .*thrum: names and lines are missing above, because elfutils' libdw.so.1 is not installed here.\n"
    ".*Debian, Ubuntu, openSUSE: the package libdw1. Fedora, RHEL: elfutils-libs. Arch: libelf. Alpine: elfutils.\n";

TEST_F(without_libdw, a_dump_says_which_package_adds_names) {
  auto const dump = [] {
    libdw_is_missing = true;
    run([] { dump_goroutines(stderr); });
    ::_exit(0);
  };
  EXPECT_EXIT(dump(), testing::ExitedWithCode(0), names_the_packages);
}

TEST_F(without_libdw, the_report_of_a_panic_says_it_too) {
  auto const panic = [] {
    libdw_is_missing = true;
    run([] {
      go([] { throw std::runtime_error("boom"); });
      static_cast<void>(chan<int>().recv());
    });
  };
  EXPECT_EXIT(panic(), testing::ExitedWithCode(2), names_the_packages);
}

}  // namespace
}  // namespace thrum
