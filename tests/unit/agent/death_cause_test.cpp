// Tests the words for causes of death, and the OOM counters of both cgroup versions in made-up
// trees.
#include "launcher/agent/death_cause.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launcher/agent/cgroups.h"

using namespace ds::launcher;

namespace {

constexpr int kCore = 0x80;
constexpr int kExit1 = 1 << 8;

/// A /proc and /sys of our own.
class FakeRoot {
 public:
  FakeRoot()
      : path_(std::filesystem::temp_directory_path() / ("ds_death_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    const std::string file = path_.string() + name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] MemoryCgroup find() const { return MemoryCgroup::find(path_.string()); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("a rank that the kernel killed for want of memory") {
  DeathFacts facts{.wait_status = SIGKILL, .pid = 12};
  CHECK_MESSAGE(describe_death(facts).empty(), "KILL alone may come from anybody");
  facts.oom_kills = 1;
  CHECK(describe_death(facts) == "out of memory: killed by the kernel");
  facts.memory_limit = std::uint64_t{2} << 30;
  CHECK(describe_death(facts) ==
        "out of memory: killed by the kernel; the limit of its cgroup is 2.0 GiB");
  facts.kernel_line =
      "Memory cgroup out of memory: Killed process 12 (x) total-vm:9kB, anon-rss:1048576kB, file";
  CHECK(describe_death(facts) ==
        "out of memory: killed by the kernel while it used 1.0 GiB; the limit of its cgroup is 2.0 "
        "GiB");
  facts.kernel_line = "Out of memory: Killed process 12 (x) total-vm:9kB, anon-rss:512kB, file";
  CHECK(describe_death(facts) ==
        "out of memory: killed by the kernel while it used 512.0 KiB; the memory of the node was "
        "full");
}

TEST_CASE("a rank that failed because another process was killed") {
  CHECK(describe_death({.wait_status = kExit1, .oom_kills = 1}) ==
        "out of memory: the kernel killed another process of its cgroup");
  CHECK(describe_death({.wait_status = kExit1, .oom_kills = 3}) ==
        "out of memory: the kernel killed 3 processes of its cgroup");
  CHECK(describe_death({.wait_status = 0, .oom_kills = 1}).empty());
}

TEST_CASE("where the core lies") {
  DeathFacts facts{.wait_status = SIGSEGV, .pid = 12, .cwd = "/w", .core_pattern = "core"};
  CHECK_MESSAGE(describe_death(facts).empty(), "no core, no word");
  facts.wait_status |= kCore;
  CHECK(describe_death(facts) == "core dumped: /w/core");
  facts.core_uses_pid = true;
  CHECK(describe_death(facts) == "core dumped: /w/core.12");
  facts.core_pattern = "/cores/%e-%p%%.core";
  CHECK(describe_death(facts) == "core dumped: /cores/*-12%.core");
  facts.core_pattern = "|/usr/lib/systemd/systemd-coredump %P %u";
  CHECK(describe_death(facts) == "core dumped: `coredumpctl info 12` on the node");
  facts.core_pattern = "|/usr/share/apport/apport -p%p";
  CHECK(describe_death(facts) == "core passed to /usr/share/apport/apport");
  facts.core_pattern = "%";
  facts.core_uses_pid = false;
  CHECK(describe_death(facts) == "core dumped: /w/%");
}

TEST_CASE("SIGBUS and /dev/shm") {
  DeathFacts facts{.wait_status = SIGBUS, .pid = 12};
  CHECK(describe_death(facts).empty());
  facts.shm_bytes = std::uint64_t{64} << 20;
  facts.shm_free = 4096;
  CHECK(describe_death(facts) == "/dev/shm is full (64.0 MiB)");
  facts.shm_free = facts.shm_bytes;
  CHECK(describe_death(facts) == "possibly a full /dev/shm: it holds only 64.0 MiB");
  facts.shm_bytes = facts.shm_free = std::uint64_t{64} << 30;
  CHECK(describe_death(facts).empty());
}

TEST_CASE("lines of the kernel's log") {
  CHECK(names_oom_victim("3,1,2,-;Out of memory: Killed process 12 (a b) total-vm", 12));
  CHECK(names_oom_victim("3,1,2,-;Killed process 12, UID 0, (python)", 12));
  CHECK_FALSE(names_oom_victim("3,1,2,-;Out of memory: Killed process 123 (a)", 12));
  CHECK_FALSE(names_oom_victim("3,1,2,-;Out of memory: Killed process 12", 12));
  CHECK_FALSE(names_oom_victim("3,1,2,-;process 12 (a)", 12));
}

TEST_CASE("counters of version 2: the nearest cgroup that has them, the tightest limit above") {
  const FakeRoot root;
  CHECK_FALSE(root.find().kills());
  root.write("/proc/self/cgroup", "0::/job/rank/leaf\n");
  root.write("/sys/fs/cgroup/job/rank/memory.events",
             "low 0\noom 9\noom_kill 3\noom_group_kill 1\n");
  root.write("/sys/fs/cgroup/job/rank/memory.max", "max\n");
  root.write("/sys/fs/cgroup/job/memory.max", "5000\n");
  CHECK(root.find().kills() == 3U);
  CHECK(root.find().limit() == 5000U);
}

TEST_CASE("counters of version 1, among other hierarchies") {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/box\n0::/\n");
  root.write("/sys/fs/cgroup/memory/box/memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  root.write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(root.find().kills() == 2U);
  CHECK_FALSE(root.find().limit());
  root.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "700\n");
  CHECK(root.find().limit() == 700U);
}

TEST_CASE("a container sees its own cgroup at the top of what is mounted") {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "0::/kubepods/burstable/pod1/box\n");
  root.write("/sys/fs/cgroup/memory.events", "oom_kill 1\n");
  root.write("/sys/fs/cgroup/memory.max", "123\n");
  CHECK(root.find().kills() == 1U);
  CHECK(root.find().limit() == 123U);
}
