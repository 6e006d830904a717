// Tests where cgroups of ranks may be made, in made-up trees of /proc and /sys.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launcher/agent/cgroups.h"

using namespace ds::launcher;

namespace {

class FakeRoot {
 public:
  FakeRoot()
      : path_(std::filesystem::temp_directory_path() /
              ("ds_cgroup_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text = "") const {
    const std::string file = path_.string() + name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  /// A cgroup of version 2 without processes or limits.
  void add(const std::string& folder) const {
    write(folder + "/cgroup.controllers");
    write(folder + "/cgroup.procs");
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path_.string() + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::string path() const { return path_.string(); }
  /// The place, without the path of this tree.
  [[nodiscard]] std::string place() const {
    const std::string found = CgroupPlace::find(path_.string()).path();
    return found.empty() ? found : found.substr(path_.string().size());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("ranks get cgroups below the agent's own") {
  const FakeRoot root;
  CHECK(root.place().empty());
  root.write("/proc/self/cgroup", "0::/user.slice/box\n");
  CHECK_MESSAGE(root.place().empty(), "a path of the host that is not seen in a container");
  root.add("/sys/fs/cgroup/user.slice/box");
  CHECK(root.place() == "/sys/fs/cgroup/user.slice/box");
}

TEST_CASE("a node with both versions has version 2 beside") {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "4:memory:/a\n1:name=systemd:/b\n0::/\n");
  root.write("/sys/fs/cgroup/memory/cgroup.procs");
  root.add("/sys/fs/cgroup/unified");
  CHECK(root.place() == "/sys/fs/cgroup/unified");
}

TEST_CASE("no cgroup below one with limits") {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "0::/\n");
  root.add("/sys/fs/cgroup");
  root.write("/sys/fs/cgroup/memory.max", "max\n");
  root.write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  CHECK(root.place() == "/sys/fs/cgroup");
  root.write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  CHECK(root.place().empty());
  root.write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  root.write("/sys/fs/cgroup/memory.max", "1073741824\n");
  CHECK(root.place().empty());
}

TEST_CASE("a cgroup with processes of another PID namespace is left alone") {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "0::/\n");
  root.add("/sys/fs/cgroup");
  const std::string path = "/sys/fs/cgroup/dslaunch-" + Cookie{"job", 1, 1}.text() + "-0.0";
  const auto clear = [&](const std::string& processes) {
    root.write(path + "/cgroup.procs", processes);
    root.write(path + "/cgroup.kill");
    const auto killed = CgroupPlace::find(root.path()).clear([](const Cookie&) { return true; });
    return std::pair(root.read(path + "/cgroup.kill"), killed.size());
  };
  CHECK(clear("0\n0\n") == std::pair(std::string(), std::size_t{0}));
  CHECK(clear("7\n0\n") == std::pair(std::string(), std::size_t{0}));
  CHECK(clear("7\n8\n") == std::pair(std::string("1"), std::size_t{2}));
}

TEST_CASE("only version 1, or a folder of a kernel without cgroup.kill: none") {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "4:memory:/a\n");
  root.write("/sys/fs/cgroup/memory/a/cgroup.procs");
  CHECK(root.place().empty());
  CHECK(CgroupPlace::find("/no/such/root").make({"job", 1, 1}, 0, 0).folder() == -1);
  kill_cgroup(-1);
}
