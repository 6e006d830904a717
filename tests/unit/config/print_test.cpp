// Tests of printed configs: the resolved config reads back to itself, the arithmetic list has what
// decides bits, docs/config.md is current.
#include "engine/config/print.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "config_helpers.h"
#include "engine/config/keys.h"

namespace {

ds::TrainConfig read_back(const ds::TrainConfig& config, std::int64_t world_size) {
  return ds::make_train_config(ds::read_toml(ds::to_toml(config), "r.toml", "/elsewhere"), "r.toml",
                               world_size);
}

/// Returns a valid override for any key whose values do not depend on other keys.
std::string random_override(const ds::Key& key, std::mt19937& random) {
  const auto name = std::string(key.name);
  switch (key.kind) {
    case ds::KeyKind::integer:
      return name + "=" +
             std::to_string(static_cast<std::int64_t>(key.min) +
                            static_cast<std::int64_t>(random() % 9));
    case ds::KeyKind::number:
      return name + "=" + std::to_string(key.min + 1e-3 * static_cast<double>(random() % 900));
    case ds::KeyKind::choice: {
      const std::string built = ds::built_choices(key);
      const auto words = ds::split_words(built);
      return name + "=" + std::string(words[random() % words.size()]);
    }
    case ds::KeyKind::flag:
      return name + (random() % 2 == 0 ? "=true" : "=false");
    case ds::KeyKind::count:
    case ds::KeyKind::bytes:
      if (!key.choices.empty() && random() % 3 == 0) return name + "=" + std::string(key.choices);
      return name + "=" + std::to_string(static_cast<std::int64_t>(key.min) * (1 + random() % 3));
    case ds::KeyKind::folders:
      return name + (random() % 3 == 0 ? "=[]" : "=[\"f\", \"g\"]");
    case ds::KeyKind::place:
      return name + (random() % 3 == 0 ? "=true" : random() % 2 == 0 ? "=false" : "=an \u00fc/dir");
    case ds::KeyKind::steps:
      return name + (random() % 3 == 0 ? "=\"\"" : random() % 2 == 0 ? "=20-22" : "=7");
    case ds::KeyKind::text:
      if (name == "debug.slow_data") return name + "=\"3:5\"";
      if (name.starts_with("debug.")) return name + "=\"3,5\"";
      return name + "=\"a\\u0007 \\\"quoted\\\" \\n\\t\\\\ \u00e9 " + std::to_string(random()) +
             "\"";
    case ds::KeyKind::path:
      if (!key.choices.empty() && random() % 3 == 0) {
        const auto words = ds::split_words(key.choices);
        return name + "=" + std::string(words[random() % words.size()]);
      }
      return name + "=some \u00fc/dir" + std::to_string(random());
    case ds::KeyKind::globs:
      return name + "=[\"a*\", \"b'" + std::to_string(random()) + "\"]";
    case ds::KeyKind::validation:
      return name + (random() % 3 == 0   ? "=0.123"
                     : random() % 2 == 0 ? "=[\"v\"]"
                                         : "={web = [\"v\", \"w*\"], \"a.b-c_D\" = \"x\"}");
    case ds::KeyKind::names:
      return name + (random() % 3 == 0 ? "=[]" : "=[\"norms\", \"h.0.*\"]");
    case ds::KeyKind::betas:
      return name + "=[0.5, 0.1234567890123]";
    case ds::KeyKind::numbers:
      return name + (random() % 2 == 0 ? "=[0.25]" : "=[]");
  }
  return name;
}

}  // namespace

TEST_CASE("ranks that would exchange traces at different steps disagree before they start") {
  ds::TrainConfig config;
  const std::string without = ds::message_order_list(config);
  config.log.trace = "3-5";
  CHECK(ds::message_order_list(config) != without);
  config.log.trace.clear();
  config.log.every = 7;  // exchanges nothing
  CHECK(ds::message_order_list(config) == without);
}

TEST_CASE("to_toml reads back to an equal config, for random good configs") {
  std::mt19937 random(1);
  int good = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> overrides{"checkpoint.dir=saves", "data.chat_template=own"};
    for (const ds::Key& key : ds::all_keys()) {
      if (!ds::only_default_built(key) && random() % 12 == 0)
        overrides.push_back(random_override(key, random));
    }
    ds::TrainConfig config;
    try {
      config = config_of(kSmallest, overrides, 2);
    } catch (const ds::Error&) {
      continue;  // contradicts itself; errors_test covers those
    }
    ++good;
    REQUIRE(read_back(config, 2) == config);
    REQUIRE(read_back(config, 1) == config);  // independent of the world size of the next start
  }
  CHECK(good > 100);
}

TEST_CASE("only arithmetic keys change the arithmetic list") {
  const ds::ArithmeticFacts facts{.kernels = "k", .libraries = "l", .data = "d"};
  const auto list = [&](const std::vector<std::string>& overrides, std::int64_t world_size) {
    std::vector<std::string> all{"determinism.virtual_ranks=4"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return ds::arithmetic_list(config_of(kSmallest, all, world_size), facts);
  };
  const std::string base = list({}, 1);
  CHECK(list({}, 3) == base);
  CHECK(list({"device.threads=7", "log.every=3", "data.train=other", "train.validate_every=2",
              "sample.tokens=4"},
             1) == base);
  CHECK(list({"schedule.total=10", "train.steps=5"}, 1) == base);
  for (const char* assignment :
       {"train.seed=9", "batch.micro=4", "data.seq_len=16", "determinism.order=step",
        "determinism.virtual_ranks=8", "precision.dtype=bf16", "optimizer.lr=0.5",
        "optimizer.no_decay=[]"}) {
    CHECK(list({assignment}, 1) != base);
  }
  CHECK(has(base, "\ndata = d\nkernels = k\nlibraries = l\n"));
}

TEST_CASE("docs/config.md is current (DS_UPDATE_DOCS=1 rewrites it)") {
  const std::string path = DS_SOURCE_DIR "/docs/config.md";
  if (std::getenv("DS_UPDATE_DOCS") != nullptr) std::ofstream(path) << ds::config_reference();
  std::ifstream file(path);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  CHECK(page == ds::config_reference());
}

TEST_CASE("defaults shown in the table are the defaults of the struct") {
  const ds::TrainConfig config = config_of(kSmallest);
  for (const ds::Key& key : ds::all_keys()) {
    const bool a_value = key.default_text.find_first_of("\"0123456789[") == 0;
    if (a_value)
      CHECK_MESSAGE((ds::to_toml(key.get(ds::TrainConfig{})) == key.default_text), key.name);
  }
}
