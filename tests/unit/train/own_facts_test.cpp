// What a rank tells of what all ranks must have in common.
#include "engine/train/own_facts.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/base/rank_message.h"
#include "engine/base/training_facts.h"
#include "engine/config/keys.h"

using namespace ds;

TEST_CASE("long values stand as digests, so that all facts fit one message") {
  const std::string text = short_facts("build = 7f3e\nmodel.preset = \"" + std::string(500, 'x') +
                                       "\"\noptimizer.lr = 0.001\nno value\n");
  CHECK(text.starts_with("build = 7f3e\nmodel.preset = "));
  CHECK(text.ends_with("\noptimizer.lr = 0.001\n"));
  CHECK(text.size() < 120);
}

TEST_CASE("too many settings stand as one digest, and the other facts stay") {
  std::string lines = "kernels = cpu avx512\n";
  for (const Key& key : all_keys())
    lines += fmt::format("{} = {}\n", key.name, std::string(70, 'y'));
  const std::string text = short_facts(lines);
  CHECK(text.starts_with("kernels = cpu avx512\nsettings = "));
  CHECK(encode(FactsTold{one_line_of_facts(text)}).size() < kMaxRankMessage);
  CHECK(short_facts(lines + "optimizer.lr = 1\n") != text);
}
