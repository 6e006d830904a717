// Makes configs from text, for the tests of this folder.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/config/load.h"
#include "engine/config/toml_reader.h"

inline constexpr const char* kSmallest =
    "[model]\npreset = \"gpt-tiny\"\n[data]\ntrain = \"a.txt\"\nseq_len = 32\n[batch]\nmicro = "
    "2\naccum = 1\n"
    "[train]\nsteps = 10\n";

inline ds::TrainConfig config_of(const std::string& text,
                                 const std::vector<std::string>& overrides = {},
                                 std::int64_t world_size = 1, std::int64_t most_ranks = 0) {
  std::vector<ds::Entry> entries = ds::read_toml(text, "t.toml", "/base");
  int number = 0;
  for (const std::string& assignment : overrides) {
    entries.push_back(ds::read_override(assignment, ++number, "/data"));
  }
  return ds::make_train_config(entries, "t.toml", world_size, most_ranks);
}

/// Returns message and hint as users see them, or "no error".
inline std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {},
                            std::int64_t world_size = 1, std::int64_t most_ranks = 0) {
  try {
    (void)config_of(text, overrides, world_size, most_ranks);
  } catch (const ds::Error& error) {
    return error.for_people();
  }
  return "no error";
}

/// Returns the error of the smallest good config with overrides applied.
inline std::string error_with(const std::vector<std::string>& overrides,
                              std::int64_t world_size = 1) {
  return error_of(kSmallest, overrides, world_size);
}

inline bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("\"" << part << "\" is not in: " << text);
  return found;
}
