// Reads tests/golden/traces: "case KEY=VALUE ..." with rows of words below it.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/config/keys.h"
#include "engine/config/resolve.h"
#include "engine/config/toml_reader.h"

struct TraceCase {
  std::string title;
  ds::TrainConfig config;
  std::vector<std::vector<std::string>> rows;
};

/// Returns the smallest config with the overrides of a case.
inline ds::TrainConfig config_of_case(const std::string& words) {
  ds::TrainConfig config;
  config.model.preset = "gpt-tiny";
  config.data.train = {"a.txt"};
  config.data.seq_len = 8;
  config.batch.micro = 1;
  config.train.steps = 10;
  ds::GivenKeys given{"trace", {}};
  std::istringstream in(words + " optimizer.lr=0.01 optimizer.betas=[0.9,0.95]");
  for (std::string word; in >> word;) {
    ds::Entry entry = ds::read_override(word, 1, "");
    const ds::Key* key = ds::find_key(entry.key);
    REQUIRE_MESSAGE(key != nullptr, word);
    // The case's own value wins.
    if (!given.places.emplace(entry.key, entry.place).second) continue;
    const auto* integer = std::get_if<std::int64_t>(&entry.value.held);
    if (key->kind == ds::KeyKind::number && integer != nullptr) {
      entry.value = {static_cast<double>(*integer)};
    }
    key->set(config, entry.value);
  }
  ds::resolve(config, given, {});
  return config;
}

inline std::vector<TraceCase> read_traces(const std::string& name) {
  std::ifstream file(DS_SOURCE_DIR "/tests/golden/traces/" + name);
  std::vector<TraceCase> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("case ")) {
      cases.push_back({line.substr(5), config_of_case(line.substr(5)), {}});
      continue;
    }
    std::istringstream in(line);
    REQUIRE(!cases.empty());
    cases.back().rows.emplace_back();
    for (std::string word; in >> word;) cases.back().rows.back().push_back(word);
  }
  REQUIRE(cases.size() > 3);
  return cases;
}
