// orphan_trials LAUNCHER RANK_PROGRAM TRIALS SEED [isolated]: kills and stops random processes of jobs
// and prints what is left 5 s later. With `isolated` any set of processes is hit; else one link of
// each rank is spared. Exit code 0: nothing was left. Trial i of a seed is always the same.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "e2e/orphans/trial.h"

namespace {

void print(int number, const ds::test::TrialResult& result) {
  fmt::print("{:5}  {:7} {:6}  {:5}  {}\n", number, result.ways, result.clean_after.count(),
             result.left.size(), result.hits);
  if (!result.error.empty()) fmt::print("       {}\n", result.error);
  for (const auto& process : result.left)
    fmt::print("       left: {} {} ({}), parent {}\n", process.pid, process.name, process.state,
               process.parent);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool isolated = argc == 6 && argv[5] == std::string("isolated");
  if (argc != 5 && !isolated) {
    fmt::print(stderr, "usage: orphan_trials LAUNCHER RANK_PROGRAM TRIALS SEED [isolated]\n");
    return 64;
  }
  const ds::test::TrialSetup setup{.launcher = argv[1], .rank = argv[2], .isolated = isolated};
  const int trials = std::stoi(argv[3]);
  const std::uint64_t seed = std::stoull(argv[4]);
  if (isolated && !ds::test::can_isolate(setup)) {
    fmt::print("skip: this machine allows no PID namespace\n");
    return 77;
  }
  fmt::print("trial  ways    ms      left   hits\n");
  int bad = 0;
  std::vector<std::int64_t> spans;
  for (int i = 0; i < trials; ++i) {
    std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(i));
    const auto result = ds::test::run_trial(setup, random);
    print(i, result);
    bad += result.good() ? 0 : 1;
    spans.push_back(result.clean_after.count());
  }
  std::ranges::sort(spans);
  if (!spans.empty())
    fmt::print(
        "{} trials, seed {}: {} left something; until nothing was left: median {} ms, longest {} "
        "ms\n",
        trials, seed, bad, spans[spans.size() / 2], spans.back());
  return bad == 0 && trials > 0 ? 0 : 1;
}
