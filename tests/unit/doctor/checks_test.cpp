// Tests of the doctor's checks: good nodes give no finding, and each defect gives its own.
#include "launcher/doctor/checks.h"

#include <doctest/doctest.h>

#include <functional>

#include "unit/doctor/nodes.h"

namespace {

using namespace ds::launcher;
using namespace ds::launcher::doctor;
using Kind = exec::NodeResult::Kind;

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (!text.empty()) text += "; ";
    text += finding.level == Finding::Level::error ? "E" : "W";
    text += std::to_string(finding.node) + " " + finding.text;
  }
  return text;
}

/// Returns the findings for four good nodes, the second of which was changed.
std::string spoilt(const std::function<void(NodeReport&)>& spoil) {
  std::vector<NodeReport> nodes = good_cluster(4);
  spoil(nodes[1]);
  return text_of(check_nodes(nodes));
}

}  // namespace

TEST_CASE("nothing is found on good nodes") {
  CHECK(check_nodes(good_cluster(4)).empty());
  CHECK(check_nodes(good_cluster(1)).empty());
  CHECK(check_nodes({}).empty());
}

TEST_CASE("a node that cannot be used is an error") {
  CHECK(spoilt([](NodeReport& n) {
          n = {.name = "n2", .result = {.kind = Kind::unreachable, .reason = "n2: refused"}};
        }) == "E1 not reached: refused");
  CHECK(spoilt([](NodeReport& n) {
          n.facts.complete = false;
          n.facts.doing = "looking at /data";
          n.result = {.kind = Kind::timed_out};
        }) == "E1 did not answer in time, while looking at /data");
  CHECK(spoilt([](NodeReport& n) {
          n.facts.complete = false;
          n.result.end = {ds::ExitStatus::exited(127), {}, {}};
        }) == "E1 gave an incomplete answer: exited 127");
  CHECK(spoilt([](NodeReport& n) { n.facts.folders[0].problem = "No such file or directory"; }) ==
        "E1 /work: No such file or directory");
  CHECK(spoilt([](NodeReport& n) { n.facts.folders[0].is_folder = false; }) ==
        "E1 /work is not a directory");
  CHECK(spoilt([](NodeReport& n) {
          n.facts.check = RunnerCheck{65, "no such data"};
        }) == "E1 dsrunner --check: no such data");
}

TEST_CASE("fewer GPUs than slots are an error, another number than most have a warning") {
  CHECK(spoilt([](NodeReport& n) {
          n.facts.gpu_files = 7;
          n.facts.gpus.pop_back();
        }) == "E1 7 GPUs for 8 slots; W1 GPUs: 7 H100; most have 8 H100");
  CHECK(spoilt([](NodeReport& n) { n.facts.gpus.pop_back(); }) ==
        "E1 8 GPUs in /dev, but nvidia-smi sees 7");
  CHECK(spoilt([](NodeReport& n) {
          n.facts.gpu_processes.push_back({3, 4711, 1024, "python", "ann"});
        }) == "W1 GPU 3 is in use: process 4711 of ann, python, 1024 MiB");
  CHECK(spoilt([](NodeReport& n) {
          n.slots = 1;
          n.devices = {8};
        }) == "E1 GPU 8 is requested, but the node has only 8");
  std::vector<NodeReport> nodes = good_cluster(2);
  for (NodeReport& node : nodes) {
    node.facts.gpu_files = 0;
    node.facts.gpus.clear();
  }
  CHECK(check_nodes(nodes).empty());  // a cluster without GPUs
}

TEST_CASE("what differs from most is a warning") {
  CHECK(spoilt([](NodeReport& n) { n.facts.driver = "535.2"; }) ==
        "W1 GPU driver: 535.2; most have 550.1");
  CHECK(spoilt([](NodeReport& n) { n.facts.build = "old"; }) ==
        "W1 dslaunch: 1.0 (old); most have 1.0 (abc)");
  CHECK(spoilt([](NodeReport& n) { n.facts.memory_bytes /= 2; }) ==
        "W1 memory: 256 GiB; most have 512 GiB");
  CHECK(spoilt([](NodeReport& n) { n.facts.memory_bytes -= 1 << 30; }).empty());
  CHECK(spoilt([](NodeReport& n) { n.facts.quota_milli = 8500; }) ==
        "W1 cores: 8.5 of 64; most have 64");
  CHECK(spoilt([](NodeReport& n) { n.facts.infiniband = {"mlx5_0"}; }) ==
        "W1 InfiniBand devices: mlx5_0; most have none");
  std::vector<NodeReport> nodes = good_cluster(4);
  nodes[0].facts.kernel = nodes[2].facts.kernel = "Linux 5.10";
  CHECK(text_of(check_nodes(nodes)) ==
        "W-1 kernel differs: Linux 5.10 on n[1,3], Linux 6.1 on n[2,4]");
}

TEST_CASE("what is known to make trouble is a warning") {
  CHECK(spoilt([](NodeReport& n) {
          n.facts.open_files = {65536, 1024};
        }) == "W1 only 1024 open files allowed (ulimit -Hn)");
  CHECK(spoilt([](NodeReport& n) { n.facts.memory_free = 1; }) ==
        "W1 only 1 B of 512 GiB memory free");
  CHECK(spoilt([](NodeReport& n) { n.facts.folders[1].free_bytes = 1 << 20; }) ==
        "W1 /tmp: 1 MiB free");
  CHECK(spoilt([](NodeReport& n) { n.facts.folders[0].writable = false; }) ==
        "W1 /work cannot be written");
  CHECK(spoilt([](NodeReport& n) { n.facts.load = 33; }) == "W1 busy: load 33.0 on 64 cores");
  std::vector<NodeReport> nodes = good_cluster(1);
  nodes[0].facts.shm_bytes = 64 << 20;
  nodes[0].facts.infiniband = {"mlx5_0"};
  nodes[0].facts.locked_memory = {8 << 20, 8 << 20};
  CHECK(text_of(check_nodes(nodes)) ==
        "W0 /dev/shm has 64 MiB; data loaders and NCCL may need more; "
        "W0 InfiniBand, but only 8 MiB of locked memory (ulimit -l)");
}

TEST_CASE("a clock is off only if it must be") {
  const auto clock = [](std::int64_t from, std::int64_t to) {
    return spoilt([&](NodeReport& n) {
      n.clock_from = from;
      n.clock_to = to;
    });
  };
  CHECK(clock(-5000, 5000).empty());
  CHECK(clock(900, 5000).empty());
  CHECK(clock(1500, 5000) == "W1 clock is 1.5 s ahead");
  CHECK(clock(-9000, -7200) == "W1 clock is 7.2 s behind");
}

TEST_CASE("names and addresses that belong to others are named") {
  CHECK(spoilt([](NodeReport& n) { n.reverse_name = "n2.cluster"; }).empty());
  CHECK(spoilt([](NodeReport& n) { n.reverse_name = n.address; }).empty());
  CHECK(spoilt([](NodeReport& n) { n.reverse_name = "other.cluster"; }) ==
        "W1 address 10.0.0.1 resolves to other.cluster, but the host name is n2");
  CHECK(spoilt([](NodeReport& n) {
          n.facts.boot_id = "boot of n1";
          n.facts.host_name = "n1";
        }) == "W-1 one machine under 2 names: n[1-2]");
}

TEST_CASE("good nodes are those without an error") {
  std::vector<NodeReport> nodes = good_cluster(3);
  nodes[0].facts.driver = "535";
  nodes[1].facts.folders[0].problem = "gone";
  CHECK(good_nodes(nodes, check_nodes(nodes)) == std::vector<int>{0, 2});
}
