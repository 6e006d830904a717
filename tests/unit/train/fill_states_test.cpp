// Tests of fill_states(): several threads give the states that one gives, and the same error;
// a second fill leaves nothing of the first.
#include "engine/states/fill_states.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "engine/base/error.h"
#include "engine/config/load.h"
#include "engine/data/open_data.h"
#include "engine/train/trainer.h"
#include "support/temp_folder.h"
#include "support/thread_collectives.h"

using namespace ds;
using namespace ds::test;

namespace {

constexpr const char* kThreeLayers = R"([model]
layers = 3
hidden = 16
heads = 1
[data]
train = "text"
validation = 0
seq_len = 8
[batch]
micro = 1
[precision]
dtype = "bf16"
[train]
steps = 10
)";

/// Values that differ by tensor, state and element. Tensors with a name in `broken` cannot be read.
class NumberedSource final : public StateSource {
 public:
  explicit NumberedSource(bool for_threads, std::vector<std::string> broken = {})
      : for_threads_(for_threads), broken_(std::move(broken)) {}
  [[nodiscard]] bool has(std::string_view /*state*/) const override { return true; }
  void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
            std::span<float> into) override {
    // Long enough for the other threads to begin.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    {
      const std::lock_guard lock(mutex_);
      threads_.insert(std::this_thread::get_id());
    }
    if (std::ranges::count(broken_, tensor.name) > 0)
      throw Error(ErrorKind::config, tensor.name + " is broken");
    const std::size_t seed = std::hash<std::string>{}(tensor.name + std::string(state)) % 97;
    for (std::size_t i = 0; i < into.size(); ++i)
      into[i] = static_cast<float>(seed + (static_cast<std::size_t>(first) + i) % 1009) / 1024.0F;
  }
  [[nodiscard]] std::unique_ptr<StateSource> for_another_thread() override {
    return for_threads_ ? std::make_unique<SameSource>(*this) : nullptr;
  }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }

 private:
  const bool for_threads_;
  const std::vector<std::string> broken_;
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
};

/// The masters of another source.
class OnlyMasters final : public StateSource {
 public:
  explicit OnlyMasters(StateSource& all) : all_(all) {}
  [[nodiscard]] bool has(std::string_view state) const override { return state == kMaster; }
  void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
            std::span<float> into) override {
    all_.read(tensor, state, first, into);
  }

 private:
  StateSource& all_;
};

/// Returns how many elements of the moments are not zero.
std::int64_t moments_of(Trainer& trainer) {
  const RankStates states = trainer.states();
  std::int64_t count = 0;
  for (const SavedTile& tile : saved_tiles(states.program, states.spec)) {
    if (tile.state == 0) continue;
    const auto* const first =
        static_cast<const float*>(states.executor.tensor(tile.value).data) + tile.offset;
    count += std::count_if(first, first + tile.elements, [](float value) { return value != 0; });
  }
  return count;
}

/// Makes a trainer of one rank with so many threads and calls work(trainer).
template <class Work>
void with_trainer(int threads, const char* offload, const Work& work) {
  const TempFolder folder;
  const std::string path = folder.file("train.toml", kThreeLayers);
  folder.file("text", std::string(4000, 'a'));
  ThreadCollectives collectives(std::make_shared<ThreadWorld>(1), 0);
  const auto group = collectives.make_group({.name = "world", .epoch = 0, .ranks = {0}},
                                            Deadline::after(std::chrono::seconds(60)));
  std::vector<std::string> overrides{std::string("offload.optimizer.device=") + offload};
  TrainConfig config =
      load_train_config({.path = path, .overrides = std::move(overrides), .world_size = 1});
  const DataSet data = open_data(config.data, 7);
  config.data.fields = data.fields;
  Backend backend = make_cpu_backend({.threads = threads, .isa = config.device.isa});
  Trainer trainer(config, backend, {.world = group.get()}, data);
  work(trainer);
}

std::string hash_of(NumberedSource& source, int threads, const char* offload) {
  std::string hash;
  with_trainer(threads, offload, [&](Trainer& trainer) {
    trainer.load(source);
    hash = trainer.weights_hash();
  });
  return hash;
}

}  // namespace

TEST_CASE("several threads fill the states that one fills") {
  for (const char* offload : {"none", "cpu"}) {
    NumberedSource alone(false), shared(true), one(true);
    const std::string hash = hash_of(alone, 4, offload);
    CHECK(alone.threads() == 1);
    CHECK(hash.size() == 32);
    CHECK(hash_of(shared, 4, offload) == hash);
    CHECK(shared.threads() > 1);
    CHECK(hash_of(one, 1, offload) == hash);
    CHECK(one.threads() == 1);
  }
}

TEST_CASE("of the errors of several threads, that of the first group counts") {
  with_trainer(4, "none", [](Trainer& trainer) {
    std::vector<std::string> broken;
    const std::vector<ParamGroup>& groups = trainer.step_program().groups;
    for (std::size_t i = 1; i < groups.size(); ++i)
      for (const ParamTensor& tensor : groups[i].tensors) broken.push_back(tensor.name);
    REQUIRE(groups.size() > 3);
    NumberedSource source(true, broken);
    const std::string message = groups[1].tensors.front().name + " is broken";
    CHECK_THROWS_WITH_AS(trainer.load(source), message.c_str(), Error);
  });
}

TEST_CASE("a second fill leaves no states of the first one, even if that failed") {
  for (const char* offload : {"none", "cpu"}) {
    with_trainer(4, offload, [](Trainer& trainer) {
      const std::string last = trainer.step_program().groups.back().tensors.back().name;
      NumberedSource whole(true), broken(true, {last});
      OnlyMasters masters(whole);
      CHECK_THROWS_AS(trainer.load(broken), Error);
      CHECK(moments_of(trainer) > 0);
      trainer.load(masters);
      CHECK(moments_of(trainer) == 0);
      trainer.load(whole);
      CHECK(moments_of(trainer) > 0);
      trainer.begin();
      CHECK(moments_of(trainer) == 0);
    });
  }
}
