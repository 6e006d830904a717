// The key `deepspeed` of train.toml: which file says what, differences, places, and the TOML.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/config/deepspeed_file.h"
#include "engine/config/load.h"
#include "engine/config/toml_reader.h"
#include "unit/deepspeed/convert_helpers.h"

using namespace ds;
using ds::test::contains;

namespace {

constexpr const char* kToml =
    "deepspeed = \"ds.json\"\n[model]\npreset = \"gpt-tiny\"\n[data]\ntrain = \"a.txt\"\nseq_len = "
    "32\n"
    "[train]\nsteps = 10\n";

/// A folder with train.toml and ds.json.
class Folder {
 public:
  Folder(const std::string& json, const std::string& toml = kToml)
      : path_(std::filesystem::temp_directory_path() /
              ("ds_entries_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
    std::ofstream(path_ / "ds.json") << json;
    std::ofstream(path_ / "train.toml") << toml;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] LoadRequest request(std::vector<std::string> overrides = {},
                                    std::int64_t ranks = 1) const {
    return {.path = path_ / "train.toml", .overrides = std::move(overrides), .world_size = ranks};
  }
  [[nodiscard]] TrainConfig load(std::vector<std::string> overrides = {},
                                 std::int64_t ranks = 1) const {
    return load_train_config(request(std::move(overrides), ranks));
  }
  [[nodiscard]] std::string error(std::vector<std::string> overrides = {},
                                  std::int64_t ranks = 1) const {
    try {
      (void)load(std::move(overrides), ranks);
    } catch (const Error& error) {
      std::string text = error.for_people();
      const std::string folder = path_.string() + "/";
      for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder))
        text.erase(at, folder.size());
      return text;
    }
    return "no error";
  }
  [[nodiscard]] std::string json() const { return path_ / "ds.json"; }

 private:
  std::filesystem::path path_;
};

constexpr const char* kThree =
    "{\n  \"train_batch_size\": 128,\n  \"train_micro_batch_size_per_gpu\": 16,\n"
    "  \"gradient_accumulation_steps\": 8\n}\n";

}  // namespace

TEST_CASE("the JSON's keys count as train.toml's; its batch fits one number of ranks") {
  const Folder folder(kThree);
  const TrainConfig config = folder.load();
  CHECK(config.batch.micro == 16);
  CHECK(config.batch.accum == 8);
  CHECK(config.optimizer.clip == 1.0);
  CHECK(contains(folder.error({}, 2),
                 "ds.json:2:23: batch.micro = 16 * batch.accum = 8 * 2 virtual ranks = 256, but "
                 "batch.global = 128"));
}

TEST_CASE("overrides count more than the JSON, and the JSON's defaults less than train.toml") {
  const Folder folder(
      R"({"train_micro_batch_size_per_gpu": 4, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}})",
      std::string(kToml) +
          "[optimizer]\nclip = 0.5\nweight_decay = 0.25\n[schedule]\ntype = \"cosine\"\n");
  const TrainConfig config = folder.load({"batch.micro=2", "optimizer.lr=0.5"});
  CHECK(config.batch.micro == 2);
  CHECK(config.optimizer.lr == 0.5);
  CHECK(config.optimizer.clip == 0.5);
  CHECK(config.optimizer.weight_decay == 0.25);
  CHECK(config.optimizer.betas[1] == 0.999);
  CHECK(config.schedule.type == ScheduleType::cosine);
}

TEST_CASE("differences are listed whole") {
  const Folder folder(kThree, std::string(kToml) + "[batch]\nmicro = 4\naccum = 8\nglobal = 64\n");
  CHECK(folder.error() ==
        "train.toml: 2 of ds.json's keys have other values here:\n"
        "  train.toml:10: batch.micro = 4, but ds.json:3: train_micro_batch_size_per_gpu is 16\n"
        "  train.toml:12: batch.global = 64, but ds.json:2: train_batch_size is 128\n"
        "  hint: delete each of them in one of the two files");
}

TEST_CASE("values that the key refuses, with their place in the JSON") {
  const Folder folder(R"({"train_micro_batch_size_per_gpu": "four",
  "zero_optimization": {"stage": 7}})");
  const std::string text = folder.error();
  CHECK(contains(
      text, "ds.json:1:36: batch.micro must be an integer, 1 to 65536, not the string \"four\""));
  CHECK(contains(text, "ds.json:2:34: zero.stage must be an integer, 0 to 3, not the integer 7"));
}

TEST_CASE("\"auto\" with the width of the model that train.toml names") {
  const Folder folder(
      R"({"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3,
                          "reduce_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}})");
  const TrainConfig config = folder.load();  // gpt-tiny has hidden = 64
  CHECK(config.zero.reduce_bucket == 64 * 64);
  CHECK(config.zero.persist_below == 640);
  CHECK(config.batch.micro == 8);
  CHECK(folder.load({"model.hidden=128", "model.heads=2"}).zero.reduce_bucket == 128 * 128);
}

TEST_CASE("a file that is missing, or not named by a path") {
  const Folder folder("{}", "deepspeed = \"other.json\"\n");
  CHECK(contains(folder.error(), "other.json: cannot be read: No such file or directory"));
  CHECK(contains(folder.error({"deepspeed=3"}), "deepspeed must be a path, not the integer 3"));
}

TEST_CASE("gives_key and the note of what was passed over") {
  const Folder folder(
      R"({"train_micro_batch_size_per_gpu": 4, "wall_clock_breakdown": false, "dump_state": true})");
  CHECK(gives_key(folder.request(), "batch.micro"));
  CHECK_FALSE(gives_key(folder.request(), "determinism.order"));
  CHECK(load_note(folder.request()) ==
        "ds.json: 2 keys passed over; dslaunch convert ds.json says why");
}

TEST_CASE("the TOML names the origin of each line and reads back to the same values") {
  const Folder folder(
      R"({"train_micro_batch_size_per_gpu": 4, "gradient_clipping": 1, "dump_state": true,
                          "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "drive"}}})");
  const DeepSpeedFile file = read_deepspeed(folder.json(), {});
  const std::string toml = deepspeed_toml(file);
  CHECK(contains(toml, "[batch]\nmicro = 4                    # train_micro_batch_size_per_gpu\n"));
  CHECK(contains(toml, "clip = 1.0"));
  CHECK(contains(toml, "paths = [\"drive\"]"));
  CHECK(contains(toml, "# Passed over:\n#   dump_state = true: no matter here: "));
  std::size_t read = 0;
  for (const Entry& entry : read_toml(toml, "again.toml", "/")) {
    CHECK_MESSAGE(file.conversion.find(entry.key) != nullptr, entry.key);
    ++read;
  }
  CHECK(read == file.conversion.settings.size());
  CHECK(contains(deepspeed_json(file), "\"key\": \"batch.micro\",\n      \"value\": 4,"));
}
