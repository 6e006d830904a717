// Trains a cell with ranks as threads: the product's trainer with collectives over shared memory.
#include "e2e/equality/train_cell.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <thread>

#include "e2e/equality/read_recorder.h"
#include "engine/base/error.h"
#include "engine/config/load.h"
#include "engine/config/print.h"
#include "engine/data/open_data.h"
#include "engine/plugin/plugin.h"
#include "engine/train/checkpointer.h"
#include "engine/train/keeper.h"
#include "engine/train/resume.h"
#include "support/apart_device.h"
#include "support/node_files.h"
#include "support/sample_file.h"
#include "support/thread_collectives.h"

namespace ds::test {
namespace {

constexpr auto kTimeout = std::chrono::seconds(120);

// Three blocks, so that one is neither first nor last; slices of several leaves at every world
// size; GPT-2's embedding is tied to the head; clipping is on, because it needs the norm over all
// ranks.
constexpr const char* kJob = R"([model]
layers = 3
hidden = 48
heads = 3
[data]
train = "text"
validation = 0
seq_len = 16
[batch]
micro = 2
accum = 2
[optimizer]
lr = 3e-3
weight_decay = 0.1
clip = 0.5
[determinism]
virtual_ranks = 4
[train]
steps = 20
seed = 7
)";

/// A membership as its ranks receive it.
struct ElasticStretch {
  const Membership& membership;
  std::uint64_t epoch = 0;
  std::vector<std::shared_ptr<NodeFiles>> nodes{};  // of the membership
};

/// A part of a run, as its ranks receive it.
struct Stretch {
  const Part& part;
  std::string saves;  // folder; empty: starts at step 0 and saves nothing
  bool is_end = true;
  const ElasticStretch* elastic = nullptr;
};

class Rank {
 public:
  Rank(const std::string& folder, const Stretch& stretch, const Place& place, int rank,
       std::shared_ptr<ThreadWorld> world)
      : folder_(folder),
        stretch_(stretch),
        cell_(stretch.part.cell),
        place_(place),
        collectives_(std::move(world), rank) {}

  void run() {
    try {
      train();
    } catch (...) {
      error_ = std::current_exception();
      for (const auto& group : groups_) group->abort();
    }
  }
  [[nodiscard]] const Trained& trained() const { return trained_; }
  [[nodiscard]] const std::exception_ptr& error() const { return error_; }

 private:
  void train() {
    const LoadRequest request{.path = folder_ + "/train.toml",
                              .overrides = keys(),
                              .world_size = collectives_.world_size()};
    TrainConfig config = load_train_config(request);
    config.elastic.keeps = config.elastic.has_buddies = stretch_.elastic != nullptr;
    const bool side_by_side = config.zero.overlap && collectives_.world_size() > 1;
    Group* const world = make_group("world");
    const RankGroups groups{.world = world,
                            .compute = nullptr,
                            .gather = side_by_side ? make_group("gather") : nullptr,
                            .reduce = side_by_side ? make_group("reduce") : nullptr};
    const DataSet data = open_data(config.data, static_cast<std::uint64_t>(config.train.seed));
    config.data.fields = data.fields;
    const CpuOptions options{.threads = static_cast<int>(config.device.threads),
                             .isa = config.device.isa};
    const bool is_apart = choice_of(cell_, "device") == "apart";
    // The passes are told that its memory is apart.
    if (is_apart || place_.accelerator) config.device.backend = "cuda";
    Backend backend = place_.accelerator ? make_accelerator_backend(options)
                      : is_apart         ? make_apart_backend(options)
                                         : make_cpu_backend(options);
    Trainer trainer(config, backend, groups, data);
    if (stretch_.elastic != nullptr) {
      take_elastic_steps(config, request, trainer, *world);
    } else {
      take_steps(config, request, trainer, *world);
    }
    if (stretch_.is_end) trained_.hash = trainer.weights_hash();
  }

  void record(const StepReport& report) {
    // As bits, so that equal steps compare equal also where a skipped step has no number.
    const auto bits = [](double value) {
      return std::isnan(value) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value);
    };
    trained_.figures[report.step] = {bits(report.loss), bits(report.grad_norm)};
  }

  void take_elastic_steps(const TrainConfig& config, const LoadRequest& request, Trainer& trainer,
                          Group& world) {
    const ElasticStretch& elastic = *stretch_.elastic;
    const int at = world.rank() / elastic.membership.ranks_per_node;
    NodeFiles& files = *elastic.nodes[static_cast<std::size_t>(at)];
    const std::string node = std::to_string(elastic.membership.nodes[static_cast<std::size_t>(at)]);
    check_ranges_to_read(trainer);
    const Rendezvous job{.world_size = world.size(), .job_id = "job", .epoch = elastic.epoch};
    Resume resume(config.checkpoint, job,
                  {.memory = std::make_unique<KeptMemory>(world, std::make_unique<RankStore>(files),
                                                          node, job.job_id)});
    StartVote vote(world, nullptr);
    const Began began = resume.load(trainer, vote, request, [&](const std::string& line) {
      if (world.rank() == 0) fmt::print("    {}\n", line);
    });
    trained_.from_memory = began.from == Began::From::memory ? 1 : 0;
    const std::string prefix = fmt::format("e{}.", elastic.epoch);
    Keeper keeper(
        config, trainer, world,
        {.run = job.job_id,
         .epoch = elastic.epoch,
         .node = node,
         .head = {.origin = resume.origin(), .config = to_toml(config)}},
        {.make_group = [&] { return take_group("keep"); },
         .hand_in = [&](const KeptFile& file) { files.keep(file); },
         .first_kept = [&] { files.keep_only(prefix); },
         .failed = [](std::int64_t, const std::string& why,
                      bool) { throw Error(ErrorKind::bug, "nothing was kept: " + why); }});
    keeper.begin_first();
    while (trainer.finished_steps() < elastic.membership.last) {
      StepWishes wishes;
      keeper.wish(wishes);
      const StepReport report = trainer.step(wishes);
      keeper.follow(report);
      record(report);
      const bool is_last = report.step == elastic.membership.last;
      if (!is_last || elastic.membership.crashes) keeper.begin_due(report, false);
    }
    if (stretch_.is_end) {
      keeper.copy_is_free(true);
    } else if (!elastic.membership.crashes) {
      DS_ASSERT(keeper.keep_now(trainer.finished_steps()), "a pause keeps the step");
    } else {
      if (keeper.kept_step() < 0) keeper.copy_is_free(true);  // something must be left
      world.barrier(Deadline::after(kTimeout));  // no rank is in a step that others have left
    }
  }

  void take_steps(const TrainConfig& config, const LoadRequest& request, Trainer& trainer,
                  Group& world) {
    const int last = stretch_.part.last + (stretch_.is_end ? 0 : stretch_.part.lost);
    if (stretch_.saves.empty()) {
      trainer.begin();
      for (int step = 0; step < last; ++step) record(trainer.step({}));
      return;
    }
    Resume resume(config.checkpoint, Rendezvous{});
    StartVote vote(world, nullptr);
    resume.load(trainer, vote, request, [](const std::string&) {});
    auto saved = std::make_unique<SaveFolder>(config.checkpoint.dir, world.spec().epoch);
    if (world.rank() == 0) saved->own();
    Checkpointer saves(config, trainer, world, std::move(saved),
                       {.origin = resume.origin(), .config = to_toml(config)},
                       [](const SaveTold& told) {
                         if (told.failed) fmt::print("save failed: {}\n", *told.failed);
                       });
    while (trainer.finished_steps() < last) {
      StepWishes wishes;
      saves.wish(wishes);
      const StepReport report = trainer.step(wishes);
      saves.after_step(report, report.step == last);
    }
    if (!stretch_.is_end) DS_ASSERT(saves.saved_step() == stretch_.part.last);
  }

  [[nodiscard]] Backend make_accelerator_backend(const CpuOptions& options) const {
    Backend backend = open_cuda_plugin().make_backend({.fused_epilogues = place_.fused_epilogues});
    backend.host_kernels = make_cpu_backend(options).kernels;
    return backend;
  }

  std::unique_ptr<Group> take_group(const char* name) {
    std::vector<int> ranks(static_cast<std::size_t>(collectives_.world_size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    const std::uint64_t epoch = stretch_.elastic == nullptr ? 0 : stretch_.elastic->epoch;
    return collectives_.make_group({.name = name, .epoch = epoch, .ranks = ranks},
                                   Deadline::after(kTimeout));
  }
  Group* make_group(const char* name) {
    groups_.push_back(take_group(name));
    return groups_.back().get();
  }

  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> keys = keys_of(cell_);
    if (place_.fused_epilogues) keys.emplace_back("device.epilogues=fused");
    keys.push_back(fmt::format("train.steps={}", std::max(place_.steps, kEqualitySteps)));
    if (!stretch_.saves.empty()) add_save_keys(keys);
    if (stretch_.elastic != nullptr) {
      keys.emplace_back("elastic.every=1");
      keys.emplace_back("batch.micro=1");
      keys.push_back(fmt::format("determinism.virtual_ranks={}", place_.virtual_ranks));
    }
    for (std::string& key : keys) {
      const std::size_t at = key.find("{paths}");
      if (at != std::string::npos) key.replace(at, 7, folder_);
    }
    return keys;
  }

  void add_save_keys(std::vector<std::string>& keys) const {
    const bool beside = stretch_.part.lost > 0 && !stretch_.is_end;
    keys.push_back("checkpoint.dir=" + stretch_.saves);
    keys.push_back(fmt::format("checkpoint.at_end={}", !beside && !stretch_.is_end));
    if (beside) keys.push_back(fmt::format("checkpoint.every={}", stretch_.part.last));
  }

  const std::string& folder_;
  const Stretch& stretch_;
  const Cell& cell_;
  const Place place_;
  ThreadCollectives collectives_;
  std::vector<std::unique_ptr<Group>> groups_;
  Trained trained_;
  std::exception_ptr error_;
};

// A failing rank makes others fail; the cause is the first error that is not a lost peer.
[[noreturn]] void rethrow_cause(const std::vector<std::exception_ptr>& errors) {
  for (const std::exception_ptr& each : errors) {
    try {
      std::rethrow_exception(each);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::comm) throw;
    }
  }
  std::rethrow_exception(errors.front());
}

}  // namespace

namespace {

/// Rows of several documents, some with padding at the end. masked: with token types, and with
/// about one token in seven as a target; one micro-batch in some steps has none.
void write_packed(const std::string& path, bool masked) {
  constexpr std::int64_t kRows = 100, kLength = 16;
  SampleField tokens{"tokens", "U16", kLength, {}}, documents{"documents", "I32", kLength, {}};
  SampleField targets{"targets", "I32", kLength, {}}, types{"token_types", "U8", kLength, {}};
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t length = 3 + row % 7, padding = row % 3 == 0 ? 1 + row % 5 : 0;
    for (std::int64_t i = 0; i < kLength; ++i) {
      tokens.numbers.push_back((i % length * (1 + row % 2) + i / length * 5) % 200);
      const bool pads = i + padding >= kLength;
      documents.numbers.push_back(pads ? -1 : i / length);
      types.numbers.push_back(i / 5 % (row % 2 + 1));
      const bool counts = row % 4 != 0 && (i * 5 + row) % 7 == 3;
      targets.numbers.push_back(counts && !pads ? tokens.numbers.back() : -100);
    }
  }
  std::ofstream file(path, std::ios::binary);
  if (masked) {
    file << sample_file({tokens, targets, types, documents});
  } else {
    file << sample_file({tokens, documents});
  }
}

/// Rows of two documents with an encoder's, which are longer and have padding at their ends.
void write_pairs(const std::string& path) {
  constexpr std::int64_t kRows = 100, kLength = 16, kEncoder = 20;
  SampleField tokens{"tokens", "U16", kLength, {}}, documents{"documents", "I32", kLength, {}};
  SampleField targets{"targets", "I32", kLength, {}};
  SampleField sources{"encoder_tokens", "U16", kEncoder, {}};
  SampleField source_documents{"encoder_documents", "I32", kEncoder, {}};
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t cut = 5 + row % 6, end = 13 + row % 4, source_cut = 4 + row % 9,
                       source_end = 14 + row % 7;
    for (std::int64_t i = 0; i < kEncoder; ++i) {
      sources.numbers.push_back((i * (1 + row % 3) + row) % 200);
      source_documents.numbers.push_back(i >= source_end ? -1 : i >= source_cut ? 1 : 0);
    }
    std::int64_t last = 0;  // a document begins with the token 0
    for (std::int64_t i = 0; i < kLength; ++i) {
      const std::int64_t word = (i * 3 + row % 5) % 200;
      tokens.numbers.push_back(i == cut ? 0 : last);
      documents.numbers.push_back(i >= end ? -1 : i >= cut ? 1 : 0);
      targets.numbers.push_back(i >= end || row % 11 == 0 ? -100 : word);
      last = word;
    }
  }
  std::ofstream(path, std::ios::binary)
      << sample_file({tokens, targets, documents, sources, source_documents});
}

}  // namespace

void write_job(const std::string& folder) {
  std::ofstream(folder + "/train.toml") << kJob;
  write_packed(folder + "/packed", false);
  write_packed(folder + "/masked", true);
  write_pairs(folder + "/pairs");
  std::ofstream text(folder + "/text");
  std::uint32_t state = 1;
  for (int i = 0; i < 20000;
       ++i) {  // letters with uneven transition probabilities, which can be learned
    state = state * 1664525U + 1013904223U;
    text << static_cast<char>('a' + (state >> 24U) % (2 + i % 7));
  }
}

namespace {

/// Returns what rank 0 computed in one part.
Trained train_stretch(const std::string& folder, const Stretch& stretch, const Place& place) {
  const auto world = std::make_shared<ThreadWorld>(
      stretch.elastic == nullptr ? world_of(stretch.part.cell) : stretch.elastic->membership.ranks);
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world->size(); ++rank)
    ranks.push_back(std::make_unique<Rank>(folder, stretch, place, rank, world));
  for (const auto& rank : ranks) threads.emplace_back([&rank] { rank->run(); });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::exception_ptr> errors;
  for (const auto& rank : ranks) {
    if (rank->error()) errors.push_back(rank->error());
  }
  if (!errors.empty()) rethrow_cause(errors);
  return ranks[0]->trained();
}

}  // namespace

std::string train_parts(const std::string& folder, const Parts& parts, const Place& place) {
  const std::string saves = parts.size() > 1 ? folder + "/saves" : std::string();
  std::filesystem::remove_all(folder + "/saves");
  if (!saves.empty()) std::filesystem::create_directory(saves);
  std::string hash;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Stretch stretch{.part = parts[i], .saves = saves, .is_end = i + 1 == parts.size()};
    hash = train_stretch(folder, stretch, place).hash;
  }
  return hash;
}

Trained train_history(const std::string& folder, const History& history, const Place& place) {
  std::map<int, std::shared_ptr<NodeFiles>> nodes;
  Trained all;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const Membership& now = history[i];
    std::erase_if(nodes, [&](const auto& node) {
      return std::ranges::count(now.nodes, node.first) == 0;  // it left, and its memory with it
    });
    ElasticStretch elastic{.membership = now, .epoch = i};
    for (const int node : now.nodes) {
      std::shared_ptr<NodeFiles>& files = nodes[node];
      if (!files) files = std::make_shared<NodeFiles>();
      elastic.nodes.push_back(files);
    }
    const Part part{.cell = now.cell, .last = now.last};
    const bool is_end = i + 1 == history.size();
    const Trained trained = train_stretch(
        folder, {.part = part, .saves = {}, .is_end = is_end, .elastic = &elastic}, place);
    for (const auto& [step, figures] : trained.figures) {
      const auto [known, is_new] = all.figures.try_emplace(step, figures);
      all.redone += is_new ? 0 : 1;
      if (known->second != figures)
        throw Error(ErrorKind::bug, fmt::format("step {} ran again with another loss", step));
    }
    all.hash = trained.hash;
    all.from_memory += trained.from_memory;
  }
  return all;
}

}  // namespace ds::test
