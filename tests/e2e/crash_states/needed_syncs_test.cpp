// Shows that each sync of a save is needed: without it, some crash state is broken.
#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "e2e/crash_states/crash_check.h"

namespace ds::test {
namespace {

/// Returns the nodes whose syncs cannot be left out one at a time, in the order of the log.
std::vector<std::string> needed_syncs(const FileLog& log) {
  std::map<int, std::string> names{{0, "root"}};
  std::vector<std::string> needed;
  for (std::size_t place = 0; place < log.ops.size(); ++place) {
    const FileOp& op = log.ops[place];
    if (op.kind == FileOp::Kind::make) names[op.node] = op.name;
    if (op.kind != FileOp::Kind::sync) continue;
    Checker checker([&](std::size_t other, const FileOp&) { return other == place; });
    const std::size_t end = std::min(place + 40, log.ops.size());
    for (std::size_t count = place; count <= end; count += 2) {
      checker.check(log, count, 0);
      for (const double share : {0.5, 0.9}) checker.check(log, count, share);
    }
    if (checker.outcome().faults > 0) needed.push_back(names[op.node]);
  }
  return needed;
}

TEST_CASE("leaving out any single sync of a save breaks some crash state") {
  const WorkFolder work;
  const std::vector<std::string> needed = needed_syncs(log_of(
      [](Run& run) {
        run.save(10);
        run.save(20);
        run.thin_out(1);
      },
      work.fresh("run")));
  const auto times = [&](const char* name) {
    return std::count(needed.begin(), needed.end(), std::string(name));
  };
  CHECK(times("root") == 1);  // the name of the checkpoint folder
  CHECK(times("rank-00000.chunk") == 2);
  CHECK(times("rank-00001.chunk") == 2);
  CHECK(times("manifest.json") == 2);
  CHECK(times("step-00000010.tmp-1") == 1);
  CHECK(times("step-00000020.tmp-1") == 1);
  CHECK(times("dir") >= 1);  // before a removed checkpoint is emptied
}

}  // namespace
}  // namespace ds::test
