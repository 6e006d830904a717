// Draws from one generator in a fixed order, so that a seed always gives the same trials.
#include "e2e/checkpoint/draw_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

namespace ds::test {
namespace {

// Two blocks of width 64, weights of several leaves, a tied head: 1.4 MB of states.
constexpr const char* kJob = R"([model]
layers = 2
hidden = 64
heads = 2
[data]
train = "text"
validation = 0
seq_len = 16
[batch]
micro = 1
accum = 1
[optimizer]
lr = 3e-3
clip = 0.5
[determinism]
virtual_ranks = 4
[train]
steps = 24
seed = 7
[log]
every = 1
[device]
threads = 1
)";

class Draw {
 public:
  explicit Draw(std::mt19937_64& random) : random_(random) {}
  int number(int first, int last) {
    return first + static_cast<int>(random_() % static_cast<std::uint64_t>(last - first + 1));
  }
  bool chance(int percent) { return number(0, 99) < percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[random_() % all.size()];
  }

 private:
  std::mt19937_64& random_;
};

using Place = std::pair<std::string, std::string>;  // call, file

/// Calls that can be the last one before a kill, each drawn about equally often.
const std::vector<Place> kMoments = {
    {"mkdir", "folder"},  {"open", "chunk"},    {"write", "chunk"},    {"write", "chunk"},
    {"sync", "chunk"},    {"close", "chunk"},   {"open", "part"},      {"write", "part"},
    {"sync", "part"},     {"open", "manifest"}, {"write", "manifest"}, {"sync", "manifest"},
    {"rename", "folder"}, {"rename", "folder"}, {"sync", "folder"},    {"sync", "other"},
    {"open", "latest"},   {"write", "latest"},  {"sync", "latest"},    {"rename", "latest"},
    {"unlink", "any"},    {"unlink", "folder"}, {"any", "any"},        {"any", "any"}};

/// Estimates of a rank's work, so that kills are spread over all of it.
struct Work {
  int steps = 0, saves = 0, chunk_writes = 0, calls = 0;
};

Work work_of(const DrawnTrial& drawn, std::int64_t from) {
  Work work;
  work.steps = std::max(2, kSteps - static_cast<int>(from));
  work.saves = std::max(1, work.steps / static_cast<int>(drawn.every));
  // With asynchronous saves not every due save begins, because only one runs at a time.
  if (drawn.async) work.saves = (work.saves + 2) / 3;
  const int pieces = 84 / drawn.spec.world + 4;
  work.chunk_writes = work.saves * pieces;
  work.calls = work.saves * (pieces + 25);
  return work;
}

FileFault kill_at_call(Draw& draw, const TrialSpec& spec, const Work& work) {
  const auto& [call, file] = draw.one_of(kMoments);
  FileFault fault{.rank = file == "chunk" || file == "part" ? draw.number(0, spec.world - 1) : 0,
                  .call = call,
                  .file = file};
  fault.first = draw.number(1, call == "any"                        ? work.calls
                               : call == "write" && file == "chunk" ? work.chunk_writes
                               : call == "unlink"                   ? work.saves * 4
                                                                    : work.saves);
  if (file == "other") fault.first += 8;  // skips those of the start
  const bool others = draw.chance(45);
  fault.what = !others ? "kill-self" : spec.launched ? "kill-root" : "kill-all";
  fault.number = draw.number(kBefore, call == "write" ? kTorn : kAfter);
  return fault;
}

Kill kill_from_outside(Draw& draw, const TrialSpec& spec, const Work& work) {
  Kill kill;
  if (draw.chance(60)) {
    kill = {.when = Kill::When::at_call, .count = draw.number(1, work.calls * spec.world)};
    kill.later = std::chrono::microseconds(draw.number(0, 3000));
  } else {
    kill = {.when = Kill::When::at_step, .count = draw.number(1, work.steps - 1)};
    kill.later = std::chrono::microseconds(draw.number(0, 15000));
  }
  const int whom = draw.number(0, 99);
  kill.whom = spec.launched && whom < 35 ? Kill::Whom::launcher
              : whom < 65                ? Kill::Whom::all
                                         : Kill::Whom::rank;
  kill.rank = draw.number(0, spec.world - 1);
  return kill;
}

FileFault file_fault(Draw& draw, const TrialSpec& spec, const Work& work, bool may_flip) {
  FileFault fault{.rank = draw.number(0, spec.world - 1)};
  fault.file = draw.one_of<std::string>(
      {"chunk", "chunk", "part", "manifest", "latest", "folder", "other", "save", "save", "any"});
  fault.first = draw.number(1, 2 * work.saves);
  fault.count = draw.number(0, 3);
  const int kind = draw.number(0, may_flip ? 99 : 84);
  if (kind < 45) {
    const bool writes = draw.chance(50);
    fault.call = writes ? "write"
                        : draw.one_of<std::string>({"open", "sync", "sync", "close", "rename",
                                                    "mkdir", "unlink", "truncate", "any"});
    fault.what = "error";
    fault.number = draw.one_of<long>({ENOSPC, ENOSPC, EIO, EIO, EDQUOT, EACCES, EROFS});
  } else if (kind < 55) {
    fault.call = "write";
    fault.what = "short";
  } else if (kind < 65) {
    fault.call = "any";
    fault.what = "delay";
    fault.count = draw.number(1, 20);
    fault.number = draw.number(1, 20);
  } else if (kind < 85) {
    fault = {.rank = fault.rank, .call = "write", .file = "save", .first = 1, .count = 0};
    fault.what = "space";
    fault.number = draw.number(0, 4000000);
    if (draw.chance(50)) fault.count = draw.number(20, 120);
  } else {
    fault.call = "write";
    fault.file = draw.one_of<std::string>({"chunk", "chunk", "chunk", "part", "manifest"});
    fault.what = "flip";
    fault.first = draw.number(1, fault.file == "chunk" ? work.chunk_writes : work.saves);
    fault.count = 1;
    fault.number = draw.number(0, 1 << 30);
  }
  return fault;
}

void draw_trouble(Draw& draw, DrawnTrial& drawn, std::int64_t from) {
  TrialSpec& spec = drawn.spec;
  const Work work = work_of(drawn, from);
  const int kind = draw.number(0, 99);
  const bool kills = kind < 85, faults = kind >= 60;
  if (kills && draw.chance(55)) spec.faults.push_back(kill_at_call(draw, spec, work));
  if (kills && spec.faults.empty()) spec.kill = kill_from_outside(draw, spec, work);
  // A checkpoint with a flipped bit is not good, so the previous one must exist.
  const bool may_flip = drawn.keep != 1;
  for (int count = faults ? draw.number(1, 2) : 0; count > 0; --count)
    spec.faults.push_back(file_fault(draw, spec, work, may_flip));
}

/// Draws where states and weights are stored. A checkpoint does not depend on it.
std::vector<std::string> draw_places(Draw& draw, const std::filesystem::path& folder, int stage) {
  const int kind = draw.number(0, 99);
  if (kind < 60) return {};
  const bool files = kind >= 80;
  std::vector<std::string> keys = {
      fmt::format("offload.optimizer.device={}", files ? "nvme" : "cpu")};
  if (files)
    keys.push_back(fmt::format("offload.optimizer.paths=[\"{}\"]", (folder / "nvme").string()));
  if (draw.chance(50)) keys.emplace_back("offload.optimizer.tile=3000");
  if (draw.chance(50))
    keys.push_back("offload.optimizer.update=" +
                   draw.one_of<std::string>({"after", "forward", "backward"}));
  if (stage == 3 && draw.chance(50))
    keys.push_back(fmt::format("offload.param.device={}", files ? "nvme" : "cpu"));
  return keys;
}

}  // namespace

const std::vector<Arithmetic>& arithmetics() {
  static const std::vector<Arithmetic> kAll = {
      {"fp32", {"precision.dtype=fp32", "determinism.order=boundary"}},
      {"bf16", {"precision.dtype=bf16", "determinism.order=step"}},
      {"fp16",
       {"precision.dtype=fp16", "determinism.order=boundary", "precision.loss_scale.init_power=10",
        "precision.loss_scale.window=5", "debug.non_finite=3,9,17"}}};
  return kAll;
}

void write_job(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "nvme");
  std::ofstream(folder / "train.toml") << kJob;
  std::ofstream text(folder / "text");
  std::uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {  // letters with uneven transition probabilities
    state = state * 1664525U + 1013904223U;
    text << static_cast<char>('a' + (state >> 24U) % static_cast<unsigned>(2 + i % 7));
  }
}

DrawnTrial draw_trial(const std::filesystem::path& folder, const Arithmetic& arithmetic,
                      std::optional<std::int64_t> trouble, std::mt19937_64& random) {
  Draw draw(random);
  DrawnTrial drawn;
  TrialSpec& spec = drawn.spec;
  spec.launched = draw.chance(35);
  spec.world = draw.one_of<int>({1, 1, 2, 2, 4});
  spec.folder = folder / "trial";
  spec.saves = folder / "saves";
  const int stage = draw.number(0, 3);
  drawn.every = draw.number(1, 3);
  drawn.async = draw.chance(60);
  drawn.keep = draw.one_of<int>({1, 1, 2, 2, 3, 0});
  drawn.major_every = draw.chance(20) ? 5 : 0;
  const std::string rate = draw.chance(15) ? draw.one_of<std::string>({"2M", "8M"}) : "unlimited";
  spec.words = {(folder / "train.toml").string(),
                fmt::format("log.dir={}", (spec.folder / "run").string()),
                fmt::format("checkpoint.dir={}", spec.saves.string()),
                fmt::format("checkpoint.every={}", drawn.every),
                fmt::format("checkpoint.keep={}", drawn.keep),
                fmt::format("checkpoint.major_every={}", drawn.major_every),
                fmt::format("checkpoint.async={}", drawn.async),
                fmt::format("checkpoint.rate={}", rate),
                fmt::format("zero.stage={}", stage),
                fmt::format("zero.overlap={}", draw.chance(50))};
  const auto add = [&](const std::vector<std::string>& keys) {
    spec.words.insert(spec.words.end(), keys.begin(), keys.end());
  };
  add(arithmetic.keys);
  const bool splits = arithmetic.name == "bf16" && draw.chance(30);
  add(splits ? std::vector<std::string>{"precision.master=split16"}
             : draw_places(draw, folder, stage));
  drawn.shape = fmt::format("{} ranks{}, stage {}, {} every {}, keep {}", spec.world,
                            spec.launched ? " launched" : "", stage, drawn.async ? "async" : "sync",
                            drawn.every, drawn.keep);
  if (trouble) draw_trouble(draw, drawn, *trouble);
  return drawn;
}

}  // namespace ds::test
