// `go tool pprof` on a profile, where Go is installed ($GO, or `go` on PATH).
#pragma once

#include "support/child.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {

inline std::string contents_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A file that is removed at the end.
class profile_file {
 public:
  explicit profile_file(std::string const& contents = {}) {
    char made[] = "/tmp/thrum_profile_XXXXXX";
    int const fd = ::mkstemp(made);
    if (fd >= 0) ::close(fd);
    name_ = made;
    if (!contents.empty()) std::ofstream(name_, std::ios::binary) << contents;
  }
  ~profile_file() {
    std::error_code ignored;
    std::filesystem::remove(name_, ignored);
    std::filesystem::remove(name_ + ".2", ignored);
  }
  profile_file(profile_file const&) = delete;
  profile_file& operator=(profile_file const&) = delete;

  [[nodiscard]] std::string const& name() const { return name_; }
  [[nodiscard]] std::string contents() const { return contents_of(name_); }

 private:
  std::string name_;
};

inline bool has_pprof() {
  return !emulated() && run_shell("\"${GO:-go}\" tool pprof -help").text.find("-top") != std::string::npos;
}

// pprof asks no server for symbols or debug information.
inline outcome run_pprof(std::string const& arguments, std::string const& profile) {
  profile_file const file(profile);
  return run_shell("DEBUGINFOD_URLS= PPROF_BINARY_PATH=/nonexistent \"${GO:-go}\" tool pprof " + arguments + " " +
                   file.name() + " 2>&1");
}

#define THRUM_SKIP_WITHOUT_PPROF() \
  if (!thrum::test::has_pprof()) GTEST_SKIP() << "no `go tool pprof` here: set GO or put go on PATH"

}  // namespace thrum::test
