// Tests of the batch keys: any two of micro, accum and global give the third; errors show all
// numbers.
#include "config_helpers.h"

namespace {

ds::BatchConfig batch_of(const std::string& lines, std::int64_t world_size,
                         const std::vector<std::string>& more = {}) {
  const std::string text =
      "[model]\npreset = \"gpt-tiny\"\n[data]\ntrain = \"a.txt\"\nseq_len = 32\n[train]\nsteps = "
      "10\n[batch]\n" +
      lines;
  return config_of(text, more, world_size).batch;
}
std::string batch_error(const std::string& lines, std::int64_t world_size,
                        const std::vector<std::string>& more = {}) {
  try {
    (void)batch_of(lines, world_size, more);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "no error";
}

}  // namespace

TEST_CASE("any two give the third; a missing accum alone is 1") {
  const ds::BatchConfig expected{.micro = 4, .accum = 3, .global = 24};
  CHECK(batch_of("micro = 4\naccum = 3\n", 2) == expected);
  CHECK(batch_of("micro = 4\nglobal = 24\n", 2) == expected);
  CHECK(batch_of("accum = 3\nglobal = 24\n", 2) == expected);
  CHECK(batch_of("micro = 4\naccum = 3\nglobal = 24\n", 2) == expected);
  CHECK(batch_of("micro = 4\n", 2) == ds::BatchConfig{4, 1, 8});
  CHECK(batch_of("global = 8\n", 2) == ds::BatchConfig{4, 1, 8});
}

TEST_CASE("virtual ranks, not ranks, divide the batch") {
  CHECK(batch_of("micro = 2\nglobal = 16\n", 1, {"determinism.virtual_ranks=4"}) ==
        ds::BatchConfig{2, 2, 16});
  CHECK(batch_of("micro = 2\nglobal = 16\n", 3, {"determinism.virtual_ranks=4"}) ==
        ds::BatchConfig{2, 2, 16});
}

TEST_CASE("contradictions name the numbers and their product") {
  const std::string mismatch = batch_error("micro = 4\naccum = 2\nglobal = 24\n", 2);
  CHECK(has(mismatch,
            "t.toml:11:10: batch.micro = 4 * batch.accum = 2 * 2 virtual ranks = 16, but "
            "batch.global = 24"));
  CHECK(has(mismatch, "global = 24\n           ^"));
  CHECK(has(mismatch, "hint: leave one of the three out"));
  CHECK(has(batch_error("micro = 5\nglobal = 24\n", 2),
            "batch.global = 24 is not a multiple of batch.micro = 5 * 2 virtual ranks = 10"));
  CHECK(has(batch_error("micro = 5\nglobal = 24\n", 2), "use batch.global = 20"));
  CHECK(has(batch_error("accum = 5\nglobal = 4\n", 1), "not a multiple of batch.accum"));
  CHECK(has(batch_error("micro = 4\naccum = 1\nglobal = 4\n", 1, {"batch.micro=8"}),
            "batch.micro = 8"));
  CHECK(has(batch_error("accum = 4\n", 1), "the batch size is undefined"));
  CHECK(has(batch_error("", 1), "t.toml: the batch size is undefined"));
}

TEST_CASE("fewer virtual ranks than ranks are refused") {
  CHECK(has(batch_error("micro = 1\n", 3, {"determinism.virtual_ranks=2"}),
            "override 1: determinism.virtual_ranks = 2 is less than the 3 ranks"));
}
