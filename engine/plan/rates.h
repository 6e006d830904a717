// Rates: how fast the parts of a machine are, and the least time of a step on it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/traffic.h"

namespace ds {

/// Bytes per second, except for `flops`. 0: unknown.
struct Rates {
  double flops = 0;                      // of one rank, matrix products
  double link = 0;                       // of one rank to another on its node, each way
  double net = 0;                        // of one node to the others, each way; its ranks share it
  double pcie = 0;                       // of one rank between device and host memory, each way
  double device = 0;                     // of one rank's device memory
  double host = 0;                       // of one node's host memory; its ranks share it
  double nvme_read = 0, nvme_write = 0;  // of one node's drives; its ranks share them
};

/// Parses "flops=800T,link=400G,net=50G,pcie=55G,device=4T,host=200G,nvme=12G/6G": decimal units K,
/// M, G, T, P; nvme=6G means reading and writing. Errors: Error{usage} naming the wrong word.
Rates parse_rates(std::string_view text);

/// Seconds of each part of the step whose rate is known.
struct LowerBound {
  std::vector<std::pair<std::string, double>> parts;  // "compute", "network", ...
  double overlapped = 0;  // the largest part: all parts run at the same time
  double in_turn = 0;     // the sum: one part after the other
};

struct StepWork {
  double flops = 0;
  Traffic traffic{};
};

/// Divides the step's work by the rates. Parts without work are left out. Pure.
LowerBound lower_bound(const StepWork& work, const Rates& rates, int slots);

}  // namespace ds
