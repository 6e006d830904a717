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

namespace {

struct Divided {
  std::int64_t virtual_ranks = 0;
  ds::BatchConfig batch{};
  friend bool operator==(const Divided&, const Divided&) = default;
};

constexpr const char* kElastic =
    "[model]\npreset = \"gpt-tiny\"\n[data]\ntrain = \"a.txt\"\nseq_len = 32\n[train]\nsteps = "
    "10\n[batch]\n";

/// Of a job that runs with `now` ranks and may have up to `most`.
Divided elastic(const std::string& lines, std::int64_t now, std::int64_t most,
                const std::vector<std::string>& more = {}) {
  const ds::TrainConfig config = config_of(kElastic + lines, more, now, most);
  return {config.determinism.virtual_ranks, config.batch};
}

std::string elastic_error(const std::string& lines, std::int64_t now, std::int64_t most,
                          const std::vector<std::string>& more = {}) {
  try {
    elastic(lines, now, most, more);
  } catch (const ds::Error& error) {
    return error.for_people();
  }
  return "no error";
}

}  // namespace

TEST_CASE("an elastic job divides its batch in the same way at every number of ranks") {
  for (const std::int64_t now : {1, 3, 4, 8}) {
    CAPTURE(now);
    CHECK(elastic("micro = 2\nglobal = 96\n", now, 8) == Divided{48, {2, 1, 96}});
    CHECK(elastic("micro = 2\naccum = 3\nglobal = 96\n", now, 8) == Divided{16, {2, 3, 96}});
    CHECK(elastic("micro = 2\n", now, 8) == Divided{8, {2, 1, 16}});
    CHECK(elastic("micro = 2\naccum = 3\n", now, 8) == Divided{8, {2, 3, 48}});
    CHECK(elastic("global = 96\n", now, 8) == Divided{8, {12, 1, 96}});
    CHECK(elastic("global = 100\n", now, 8) == Divided{10, {10, 1, 100}});
    CHECK(elastic("accum = 2\nglobal = 100\n", now, 8) == Divided{10, {5, 2, 100}});
    CHECK(elastic("micro = 2\nglobal = 96\n", now, 8, {"determinism.virtual_ranks=12"}) ==
          Divided{12, {2, 4, 96}});
  }
}

TEST_CASE("an elastic job may not get more ranks than virtual ranks") {
  CHECK(has(elastic_error("micro = 2\nglobal = 96\n", 2, 49),
            "the job may grow to 49 ranks, but there are 48 virtual ranks, one for each "
            "micro-batch of batch.global"));
  CHECK(has(elastic_error("micro = 2\nglobal = 96\n", 2, 8, {"determinism.virtual_ranks=6"}),
            "the job may grow to 8 ranks, but there are 6 virtual ranks\n"));
  CHECK(has(elastic_error("global = 4\n", 2, 8), "may grow to 8 ranks, but there are 4 virtual"));
  CHECK(has(elastic_error("global = 4\n", 2, 8), "lower MAX of --nodes MIN:MAX"));
  CHECK(has(elastic_error("micro = 5\nglobal = 24\n", 1, 2), "batch.global = 24"));
}

TEST_CASE("a size that follows from the others has the limits of its key") {
  CHECK(has(batch_error("micro = 1\nglobal = 1000000000000\n", 1),
            "batch.global = 1000000000000 makes batch.accum 1000000000000"));
  CHECK(has(batch_error("accum = 1\nglobal = 131072\n", 1),
            "batch.global = 131072 makes batch.micro 131072"));
  CHECK(batch_of("accum = 1\nglobal = 65536\n", 1).micro == 65536);
  // Of an elastic job, whose virtual ranks follow from the batch.
  const auto elastic = [](const std::string& lines) {
    return error_of(
        "[model]\npreset = \"gpt-tiny\"\n[data]\ntrain = \"a.txt\"\nseq_len = 32\n[train]\nsteps "
        "= 10\n[batch]\n" +
            lines,
        {}, 1, 4);
  };
  CHECK(elastic("micro = 2\nglobal = 131072\n") == "no error");
  CHECK(has(elastic("micro = 1\nglobal = 131072\n"),
            "batch.global = 131072 makes determinism.virtual_ranks 131072"));
  CHECK(has(elastic("global = 1000000000039\n"),
            "batch.global = 1000000000039 makes determinism.virtual_ranks"));
}
