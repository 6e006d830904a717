// Tests of Resume's texts: differences in settings that decide bits, and settings kept from the
// first start.
#include "engine/train/resume.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/config/print.h"
#include "engine/config/train_config.h"

namespace {

const ds::ArithmeticFacts kFacts{.kernels = "AVX2", .libraries = "oneDNN 3", .data = "d"};

std::string list_of(const ds::TrainConfig& config, const ds::ArithmeticFacts& facts = kFacts) {
  return ds::arithmetic_list(config, facts);
}

}  // namespace

TEST_CASE("differing settings that decide bits are listed with both values") {
  ds::TrainConfig saved, now;
  saved.optimizer.lr = 0.002;
  now.optimizer.lr = 0.001;
  now.train.steps = 99;
  now.zero.stage = 3;
  now.offload.optimizer.device = ds::OffloadDevice::cpu;
  now.precision.master = ds::MasterWeights::split16;
  now.checkpoint.every = 5;
  now.log.samples = true;
  CHECK(ds::arithmetic_differences(list_of(saved), list_of(now)) ==
        std::vector<std::string>{"optimizer.lr: 0.001, was 0.002"});
  CHECK(ds::arithmetic_differences(list_of(now), list_of(now)).empty());
}

TEST_CASE("data, kernels and libraries are compared too") {
  const ds::TrainConfig config;
  const std::vector<std::string> lines = ds::arithmetic_differences(
      list_of(config),
      list_of(config, {.kernels = "AVX-512", .libraries = "oneDNN 4", .data = "e"}));
  REQUIRE(lines.size() == 3);
  for (const char* line :
       {"data: e, was d", "kernels: AVX-512, was AVX2", "libraries: oneDNN 4, was oneDNN 3"})
    CHECK(std::ranges::find(lines, line) != lines.end());
}

TEST_CASE("values with an equals sign, and names that only one side has") {
  CHECK(ds::arithmetic_differences("a = \"x = 1\"\nold = 3\n", "a = \"x = 2\"\nnew = 4\n") ==
        std::vector<std::string>{"a: \"x = 2\", was \"x = 1\"", "new: 4, was absent"});
  CHECK(ds::arithmetic_differences("", "").empty());
}

TEST_CASE("no_decay is a set: order and repetitions make no difference") {
  ds::TrainConfig saved, now;
  saved.optimizer.no_decay = {"norms", "biases", "*.c_proj.weight"};
  now.optimizer.no_decay = {"biases", "*.c_proj.weight", "norms", "biases"};
  CHECK(ds::arithmetic_differences(list_of(saved), list_of(now)).empty());
  now.optimizer.no_decay = {"biases", "norms"};
  CHECK(ds::arithmetic_differences(list_of(saved), list_of(now)) ==
        std::vector<std::string>{"optimizer.no_decay: [\"biases\", \"norms\"], was [\"norms\", "
                                 "\"biases\", \"*.c_proj.weight\"]"});
}

TEST_CASE("a run saved before no_decay existed decayed every tensor") {
  const std::string old = "optimizer.lr = 0.001\n";
  CHECK(ds::arithmetic_differences(old, old + "optimizer.no_decay = [\"norms\", \"biases\"]\n") ==
        std::vector<std::string>{"optimizer.no_decay: [\"norms\", \"biases\"], was []"});
  CHECK(ds::arithmetic_differences(old, old + "optimizer.no_decay = []\n").empty());
}

TEST_CASE("a run saved before a key existed had its default of today") {
  const std::string old = "optimizer.lr = 0.001\n";
  CHECK(ds::arithmetic_differences(
            old, old + "model.rope_scaling = \"none\"\nmodel.rope_trained = 8192\n")
            .empty());
  CHECK(ds::arithmetic_differences(old, old + "model.rope_scaling = \"linear\"\n") ==
        std::vector<std::string>{"model.rope_scaling: \"linear\", was \"none\""});
}

TEST_CASE("one value of a list") {
  ds::TrainConfig config;
  config.determinism = {.virtual_ranks = 6, .order = ds::ReduceOrder::step};
  const std::string list = list_of(config);
  CHECK(ds::arithmetic_value(list, "determinism.virtual_ranks") == "6");
  CHECK(ds::arithmetic_value(list, "determinism.order") == "\"step\"");
  CHECK(ds::arithmetic_value(list, "train.steps") == std::nullopt);
}
