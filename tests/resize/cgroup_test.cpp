// cgroup_quota over a tree of files in a temporary directory.
#include "os/cgroup.h"

#include "os/fault.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

constexpr char v2_mount[] = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char v1_mounts[] =
    "33 25 0:30 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "34 33 0:31 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
    "35 33 0:32 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 master:3 - cgroup cgroup rw,cpu,cpuacct\n"
    "43 33 0:40 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

class cgroup : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "thrum_cgroup_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    made_.push_back(root_);
  }
  void TearDown() override {
    clear_faults();
    for (auto each = made_.rbegin(); each != made_.rend(); ++each) std::remove(each->c_str());
  }

  // Writes a file below the root, with the directories it needs.
  void file(std::string const& path, std::string const& text) {
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
      std::string const directory = root_ + path.substr(0, at);
      if (mkdir(directory.c_str(), 0700) == 0) made_.push_back(directory);
    }
    std::FILE* const stream = std::fopen((root_ + path).c_str(), "w");
    ASSERT_NE(stream, nullptr);
    std::fputs(text.c_str(), stream);
    std::fclose(stream);
    made_.push_back(root_ + path);
  }

  // The quota, or 0 for none.
  double quota(char const* self, char const* mounts) { return cgroup_quota(root_.c_str(), self, mounts).value_or(0); }

 private:
  std::string root_;
  std::vector<std::string> made_;
};

TEST_F(cgroup, v2_the_quota_of_the_process_itself_is_read) {
  file("/sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/app\n", v2_mount), 1.5);
}

TEST_F(cgroup, v2_max_is_no_limit) {
  file("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/app\n", v2_mount), 0);
}

TEST_F(cgroup, v2_a_tighter_ancestor_limits) {
  file("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  file("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/a/b/c\n", v2_mount), 2.5);
}

TEST_F(cgroup, v2_a_looser_ancestor_does_not) {
  file("/sys/fs/cgroup/a/cpu.max", "900000 100000\n");
  file("/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/a/b\n", v2_mount), 3);
}

TEST_F(cgroup, v2_a_limit_at_the_root_of_the_mount_counts) {
  file("/sys/fs/cgroup/cpu.max", "50000 20000\n");
  EXPECT_DOUBLE_EQ(quota("0::/\n", v2_mount), 2.5);
  EXPECT_DOUBLE_EQ(quota("0::/a/b\n", v2_mount), 2.5);  // the levels between have no files
}

TEST_F(cgroup, v2_siblings_and_what_lies_above_the_mount_do_not_count) {
  file("/sys/fs/cgroup/app/cpu.max", "400000 100000\n");
  file("/sys/fs/cgroup/app2/cpu.max", "100000 100000\n");
  file("/sys/fs/cpu.max", "100000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/app\n", v2_mount), 4);
}

TEST_F(cgroup, v1_quota_and_period_are_two_files) {
  file("/sys/fs/cgroup/cpu,cpuacct/docker/app/cpu.cfs_quota_us", "350000\n");
  file("/sys/fs/cgroup/cpu,cpuacct/docker/app/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota("4:cpuset:/\n3:cpu,cpuacct:/docker/app\n0::/else\n", v1_mounts), 3.5);
}

TEST_F(cgroup, v1_minus_one_is_no_limit_and_an_ancestor_may_have_one) {
  file("/sys/fs/cgroup/cpu,cpuacct/docker/app/cpu.cfs_quota_us", "-1\n");
  file("/sys/fs/cgroup/cpu,cpuacct/docker/app/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("3:cpuacct,cpu:/docker/app\n", v1_mounts), 0);
  file("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "200000\n");
  file("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "50000\n");
  EXPECT_DOUBLE_EQ(quota("3:cpuacct,cpu:/docker/app\n", v1_mounts), 4);
}

TEST_F(cgroup, v1_takes_precedence_where_both_are_mounted_and_v2_serves_where_v1_has_no_cpu) {
  file("/sys/fs/cgroup/unified/app/cpu.max", "300000 100000\n");
  file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "500000\n");
  file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota("3:cpu,cpuacct:/\n0::/app\n", v1_mounts), 5);
  EXPECT_DOUBLE_EQ(quota("0::/app\n3:cpu,cpuacct:/\n", v1_mounts), 5);
  EXPECT_DOUBLE_EQ(quota("4:cpuset:/\n0::/app\n", v1_mounts), 3);
}

TEST_F(cgroup, a_mount_of_a_part_of_the_tree_is_cut_off_the_path) {
  file("/sys/fs/cgroup/inner/cpu.max", "600000 100000\n");
  file("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  file("/sys/fs/cgroupdef/cpu.max", "100000 100000\n");  // a prefix is not a directory
  char const mount[] = "30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  EXPECT_DOUBLE_EQ(quota("0::/docker/abc/inner\n", mount), 3);
  EXPECT_DOUBLE_EQ(quota("0::/docker/abc\n", mount), 3);
  EXPECT_EQ(quota("0::/docker/abcdef\n", mount), 0);  // another container
  EXPECT_EQ(quota("0::/docker\n", mount), 0);
}

TEST_F(cgroup, of_several_mounts_the_one_that_shows_most_ancestors_is_read) {
  file("/part/cpu.max", "600000 100000\n");
  file("/whole/docker/cpu.max", "200000 100000\n");
  file("/whole/docker/abc/cpu.max", "600000 100000\n");
  char const mounts[] =
      "30 24 0:26 /docker/abc /part ro - cgroup2 cgroup rw\n"
      "31 24 0:26 / /whole ro - cgroup2 cgroup rw\n";
  EXPECT_DOUBLE_EQ(quota("0::/docker/abc\n", mounts), 2);
}

TEST_F(cgroup, escaped_mount_points_and_colons_in_paths_are_understood) {
  file("/my groups/a:b/cpu.max", "700000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/a:b\n", "30 24 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n"), 7);
}

TEST_F(cgroup, a_process_outside_of_its_namespace_has_no_quota_that_can_be_known) {
  file("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota("0::/../other\n", v2_mount), 0);
  EXPECT_EQ(quota("0::/\n", "30 24 0:26 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"), 0);
}

TEST_F(cgroup, garbage_in_the_limit_files_is_passed_over) {
  file("/sys/fs/cgroup/cpu.max", "900000 100000\n");
  for (char const* text : {"", "\n", "100000", "100000 ", "100000 x", "x 100000", "100000 0", "0 100000", "-5 100000",
                           "100000 -1", "1e5 100000", "100000 100000 100000", "99999999999999999999 100000"}) {
    file("/sys/fs/cgroup/app/cpu.max", text);
    EXPECT_DOUBLE_EQ(quota("0::/app\n", v2_mount), 9) << text;
  }
}

TEST_F(cgroup, garbage_in_the_texts_of_proc_gives_no_quota) {
  file("/sys/fs/cgroup/cpu.max", "900000 100000\n");
  for (char const* self : {"", "\n\n", ":", "::", "0", "0:", "0::", "0::relative", "garbage", "1:cpu", "x::/"}) {
    EXPECT_EQ(quota(self, v2_mount), 0) << self;
  }
  for (char const* mounts :
       {"", "\n", " - ", "- cgroup2", " - cgroup2 x y", "30 24 - cgroup2 cgroup2 rw\n",
        "30 24 0:26 / /sys/fs/cgroup rw cgroup2 cgroup2 rw\n", "30 24 0:26 / relative rw - cgroup2 cgroup2 rw\n",
        "30 24 0:26 / /sys/fs/cgroup\\04 rw - cgroup2 cgroup2 rw\n",
        "30 24 0:26 / /sys/fs/cgroup\\9 rw - cgroup2 cgroup2 rw\n",
        "30 24 0:26 / /sys/fs/cgroup rw - tmpfs cgroup2 rw\n"}) {
    EXPECT_EQ(quota("0::/\n", mounts), 0) << mounts;
  }
}

TEST_F(cgroup, files_that_cannot_be_read_give_no_quota) {
  file("/sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  inject_fault(call::open, EACCES, 0, fault_for_good);
  EXPECT_EQ(quota("0::/app\n", v2_mount), 0);
  clear_faults();
  inject_fault(call::read, EIO, 0, fault_for_good);
  EXPECT_EQ(quota("0::/app\n", v2_mount), 0);
}

TEST_F(cgroup, a_read_that_a_signal_interrupts_is_repeated) {
  file("/sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  inject_fault(call::read, EINTR, 0, 3);
  EXPECT_DOUBLE_EQ(quota("0::/app\n", v2_mount), 1.5);
}

}  // namespace
}  // namespace thrum::rt::os
