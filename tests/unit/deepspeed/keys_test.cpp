// The table of DeepSpeed's keys: complete, in agreement with train.toml's table and with its page.
#include "engine/config/keys.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "engine/deepspeed/keys.h"

using namespace ds;

TEST_CASE("the table has every key that DeepSpeed's release reads") {
  std::ifstream file(DS_SOURCE_DIR "/tests/golden/deepspeed_keys.txt");
  int keys = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    CHECK_MESSAGE(is_known_ds_key(line), line);
    ++keys;
  }
  CHECK(keys > 400);  // the list was found
}

TEST_CASE("rows are unique, and no row lies below a section that has one row") {
  std::set<std::string_view> seen;
  for (const DsKey& key : ds_keys()) {
    CHECK_MESSAGE(seen.insert(key.path).second, key.path);
    CHECK_MESSAGE(section_of_ds_key(key.path) == nullptr, key.path);
    CHECK_MESSAGE((key.parts.empty() || !has_ds_keys_below(key.path)), key.path);
  }
}

TEST_CASE("mapped rows name keys of train.toml; the other rows give their reason") {
  for (const DsKey& key : ds_keys()) {
    if (key.fate == DsFate::mapped) {
      CHECK_MESSAGE(find_key(key.toml) != nullptr, key.path);
    } else {
      CHECK_MESSAGE(!key.text.empty(), key.path);
      CHECK_MESSAGE(key.toml.empty(), key.path);
    }
    // Behind "; " stands what to do.
    if (key.fate == DsFate::refused)
      CHECK_MESSAGE(key.text.find("; ") != std::string_view::npos, key.path);
  }
}

TEST_CASE("known paths: rows, sections, parts, and names that users choose") {
  for (const char* path :
       {"fp16", "fp16.enabled", "zero_optimization.offload_param", "tensorboard.job_name",
        "data_efficiency.data_sampling.curriculum_learning.curriculum_metrics.any.min_difficulty",
        "autotuning.arg_mappings.anything.below", "data_efficiency.data_routing"})
    CHECK_MESSAGE(is_known_ds_key(path), path);
  for (const char* path : {"fp16.enable", "tensorboard.name", "zero_optimisation", "stage", "",
                           "data_efficiency.data_sampling.curriculum_metrics", "fp16.enabled.more"})
    CHECK_MESSAGE(!is_known_ds_key(path), path);
}

TEST_CASE("unknown keys have a nearest one: by spelling, or of the same name elsewhere") {
  CHECK(nearest_ds_key("gradient_cliping") == "gradient_clipping");
  CHECK(nearest_ds_key("zero_optimization.stge") == "zero_optimization.stage");
  CHECK(nearest_ds_key("stage3_max_live_parameters") ==
        "zero_optimization.stage3_max_live_parameters");
  CHECK(nearest_ds_key("fp16.initial_scale_pwr") == "fp16.initial_scale_power");
  CHECK(nearest_ds_key("tensorboard.jobname") == "tensorboard.job_name");
  CHECK(nearest_ds_key("chunk_size_of_nothing_known") == "");
}

TEST_CASE("docs/deepspeed.md is current (DS_UPDATE_DOCS=1 rewrites it)") {
  const std::string path = DS_SOURCE_DIR "/docs/deepspeed.md";
  if (std::getenv("DS_UPDATE_DOCS") != nullptr) std::ofstream(path) << deepspeed_reference();
  std::ifstream file(path);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  CHECK(page == deepspeed_reference());
}
