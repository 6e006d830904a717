// Tests reading of the topology from a made-up /sys and /proc.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "launcher/agent/node_facts.h"

using namespace ds::launcher;

namespace {

namespace fs = std::filesystem;

/// A folder with files in it, gone at the end.
class Tree {
 public:
  Tree() {
    std::string path = (fs::temp_directory_path() / "topologyXXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    root_ = path;
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void processor(int number, int package, int core) const {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology";
    write(folder + "/physical_package_id", std::to_string(package) + "\n");
    write(folder + "/core_id", std::to_string(core) + "\n");
  }
  void gpu(const std::string& bus, const std::string& information, const std::string& node) const {
    write("/proc/driver/nvidia/gpus/" + bus + "/information", information);
    write("/sys/bus/pci/devices/" + bus + "/numa_node", node);
  }
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  std::string root_;
};

using Numbers = std::vector<int>;

}  // namespace

TEST_CASE("lists of processors as the kernel writes them") {
  CHECK(numbers_of_list("0-3,8") == Numbers{0, 1, 2, 3, 8});
  CHECK(numbers_of_list("7") == Numbers{7});
  for (const char* none : {"", "x", "3-1", "-1", "1-", "0-99999999", "1,,2", "0x1"}) {
    CAPTURE(none);
    CHECK(numbers_of_list(none).empty());
  }
}

TEST_CASE("two packages with equal core numbers, two threads each") {
  const Tree tree;
  for (int i = 0; i < 8; ++i) tree.processor(i, (i / 2) % 2, i % 2);
  tree.write("/sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
  tree.write("/sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
  tree.write("/sys/devices/system/node/has_cpu", "0-1\n");
  const NodeTopology topology = read_topology(tree.root(), {0, 1, 2, 4, 6, 7});
  CHECK(topology.processors ==
        std::vector<Processor>{{0, 0, 0, 0, 0},
                               {1, 1, 0, 0, 0},
                               {2, 2, 1, 1, 1},
                               {4, 0, 0, 0, 0},
                               {6, 2, 1, 1, 1},
                               {7, 3, 1, 1, 1}});
  for (const int i : {0, 1, 4})
    tree.write("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/cache/index3/shared_cpu_list",
               i == 1 ? "1\n" : "0,4\n");
  const NodeTopology shared = read_topology(tree.root(), {0, 1, 2, 4});
  CHECK(shared.processors[0].l3 == shared.processors[3].l3);
  CHECK(shared.processors[0].l3 != shared.processors[1].l3);
  CHECK(shared.processors[0].l3 != shared.processors[2].l3);
}

TEST_CASE("where nothing is told each processor is a core of one node") {
  const Tree tree;
  CHECK(read_topology(tree.root(), {3, 5}).processors ==
        std::vector<Processor>{{3, 0, 0}, {5, 1, 0}});
  CHECK(read_topology(tree.root(), {3, 5}).devices.empty());
}

TEST_CASE("GPUs come in the order of the bus, with their UUID and node") {
  const Tree tree;
  tree.gpu("0000:86:00.0",
           "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-22222222-0000-1111-2222-333333333333\n",
           "1\n");
  tree.gpu("0000:17:00.0", "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-?\n", "0\n");
  tree.gpu("0001:01:00.0", "Model: \t\t NVIDIA H200\n", "-1\n");
  CHECK(
      read_topology(tree.root(), {0}).devices ==
      std::vector<DevicePlace>{{"", 0}, {"GPU-22222222-0000-1111-2222-333333333333", 1}, {"", -1}});
}

TEST_CASE("this process may use some processor") { CHECK_FALSE(allowed_processors().empty()); }
