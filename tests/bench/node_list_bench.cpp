// Times the parser on the node list of an allocation of 64 K hosts. With `-` it expands the lists
// on standard input instead, one per line: tests/e2e/slurm/node_lists.py compares them with Slurm's
// own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/slurm/node_list.h"

using namespace ds::launcher;

namespace {

constexpr int kTrials = 21;

/// Prints times in milliseconds.
void measure(const char* what, const std::string& list) {
  std::vector<double> times;
  std::size_t names = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto start = std::chrono::steady_clock::now();
    const auto result = expand_node_list(list);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (const auto* expanded = std::get_if<0>(&result)) names = expanded->size();
    times.push_back(took.count());
  }
  std::ranges::sort(times);
  fmt::print("{:<28} {:>6} hosts: median {:6.2f} ms, from {:.2f} to {:.2f}\n", what, names,
             times[kTrials / 2], times.front(), times.back());
}

void expand_lines() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto result = expand_node_list(line);
    if (const auto* names = std::get_if<0>(&result))
      fmt::print("{}\n", fmt::join(*names, " "));
    else
      fmt::print("!{}\n", std::get<1>(result).message);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "-") {
    expand_lines();
    return 0;
  }
  std::string racks;
  for (int rack = 0; rack < 1024; ++rack)
    racks += fmt::format("{}rack{}-n[01-64]", rack == 0 ? "" : ",", rack);
  std::string singles = "node0";
  for (int host = 1; host < 65536; ++host) singles += fmt::format(",node{}", host);
  measure("n[0-65535]", "n[0-65535]");
  measure("r[0-255]n[00-255]", "r[0-255]n[00-255]");
  measure("rack0-n[01-64],rack1-...", racks);
  measure("node0,node1,...", singles);
  return 0;
}
