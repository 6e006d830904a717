// Good nodes as test data for the doctor; tests change single facts.
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/checks.h"

namespace ds::launcher::doctor {

inline NodeReport good_node(const std::string& name) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  NodeReport node{
      .name = name, .slots = 8, .address = "10.0.0.1", .clock_from = -20, .clock_to = 5};
  node.result = {.kind = exec::NodeResult::Kind::exited, .end = {ExitStatus::exited(0), {}, {}}};
  Facts& f = node.facts;
  f.version = "1.0";
  f.build = "abc";
  f.host_name = name;
  f.kernel = "Linux 6.1";
  f.os = "Debian 12";
  f.machine = "x86_64";
  f.cpu = "EPYC";
  f.boot_id = "boot of " + name;
  f.cores = 64;
  f.memory_bytes = 512 * kGiB;
  f.memory_free = 500 * kGiB;
  f.shm_bytes = f.shm_free = 256 * kGiB;
  f.open_files = {65536, 1048576};
  f.locked_memory = {kUnlimited, kUnlimited};
  f.gpu_files = 8;
  f.driver = "550.1";
  for (int i = 0; i < 8; ++i) f.gpus.push_back({i, "H100", "GPU-" + std::to_string(i), 81559});
  f.folders = {{"/work", "", true, true, 1000 * kGiB, 900 * kGiB},
               {"/tmp", "", true, true, 100 * kGiB, 90 * kGiB}};
  f.complete = true;
  return node;
}

inline std::vector<NodeReport> good_cluster(int count) {
  std::vector<NodeReport> nodes;
  for (int i = 1; i <= count; ++i) nodes.push_back(good_node("n" + std::to_string(i)));
  return nodes;
}

}  // namespace ds::launcher::doctor
