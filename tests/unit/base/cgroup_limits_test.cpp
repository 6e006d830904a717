// Tests of free memory and CPU quota: the smallest of the machine's and of every cgroup's, versions
// 1 and 2.
#include "engine/base/cgroup_limits.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace {

/// A private /proc and /sys.
class FakeRoot {
 public:
  FakeRoot()
      : path_(std::filesystem::temp_directory_path() / ("ds_memory_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    write("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    1000 kB\n");
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) {
    const std::string file = path_.string() + name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::size_t available() const { return ds::available_memory_bytes(path_.string()); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("without cgroups the kernel's estimate is used") {
  CHECK(FakeRoot().available() == 1000 * 1024);
}

TEST_CASE("version 2: the tightest level counts, reclaimable cache does not") {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/job/rank\n");
  root.write("/sys/fs/cgroup/job/memory.max", "500000\n");
  root.write("/sys/fs/cgroup/job/memory.current", "200000\n");
  root.write("/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 50000\n");
  root.write("/sys/fs/cgroup/job/rank/memory.max", "max\n");
  root.write("/sys/fs/cgroup/job/rank/memory.current", "100000\n");
  CHECK(root.available() == 350000);
}

TEST_CASE("version 1: the memory hierarchy is found among the others") {
  FakeRoot root;
  root.write("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/box\n0::/\n");
  root.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "70000\n");
  root.write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "60000\n");
  root.write("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "70000\n");
  CHECK(root.available() == 0);
}

TEST_CASE("CPU quota: version 1 and 2, no quota, and a tighter parent group") {
  FakeRoot root;
  CHECK(std::isinf(ds::cpu_quota(root.path())));
  root.write("/proc/self/cgroup", "2:cpu,cpuacct:/box\n0::/job/rank\n");
  root.write("/sys/fs/cgroup/job/rank/cpu.max", "max 100000\n");
  CHECK(std::isinf(ds::cpu_quota(root.path())));
  root.write("/sys/fs/cgroup/job/cpu.max", "250000 100000\n");
  CHECK(ds::cpu_quota(root.path()) == 2.5);
  root.write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  root.write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  CHECK(ds::cpu_quota(root.path()) == 2.5);
  root.write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "150000\n");
  CHECK(ds::cpu_quota(root.path()) == 1.5);
}

TEST_CASE("CPU quota in a container, which sees its own folder at the top") {
  FakeRoot root;
  root.write("/proc/self/cgroup", "4:cpu,cpuacct:/kubepods/pod1/box\n3:memory:/kubepods/pod1\n");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "40000\n");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(ds::cpu_quota(root.path()) == 0.4);
}

TEST_CASE("what cannot be read limits nothing") {
  const std::string nowhere = "/no/such/root";
  CHECK(ds::available_memory_bytes(nowhere) == std::numeric_limits<std::int64_t>::max());
  CHECK(std::isinf(ds::cpu_quota(nowhere)));
}
