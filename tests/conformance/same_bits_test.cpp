// Tests of equal bits for any number of threads, for every op, and for AVX2 and AVX-512 where
// oneDNN is not involved.
#include <algorithm>
#include <string_view>

#include "conformance/all_ops.h"

namespace ds::conformance {
namespace {

// All sizes odd; then the case that revealed a difference in oneDNN's own threading: width 192 with
// sums over 16384 rows.
constexpr Case kOdd{3, 77, 60, 5, 131, 307, 50};
constexpr Case kLong{64, 256, 192, 3, 192, 256, 4096};

using Results = std::vector<std::pair<std::string, std::string>>;

Results run_all(const Options& options, const Case& c, DType act, bool products, bool loops) {
  Bench bench(options, {.micro = c.batch,
                        .seq_len = c.time,
                        .width = c.width,
                        .heads = c.heads,
                        .ffn = c.ffn,
                        .vocab = c.vocab,
                        .chunk_rows = c.chunk,
                        .key_len = c.time + AllOps::kMoreKeys,
                        .act = act});
  Results results;
  AllOps ops(bench, c, act,
             [&](const char* op, const std::string& bits) { results.emplace_back(op, bits); });
  if (products) ops.products();
  if (loops) ops.loops();
  return results;
}

void check_same(const Results& a, const Results& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i].first);
    CHECK((a[i].second == b[i].second));
  }
}

}  // namespace

TEST_CASE("threads 1, 2, 8 and 16 give the same bits; an accelerator always the same") {
  for_each_subject([](const Subject& subject, DType act) {
    if (small_cases() && act != DType::bf16) return;
    Options options = subject.options;
    if (!options.accelerator) options.threads = 1;
    const Results one = run_all(options, kOdd, act, true, true);
    for (const int threads : {2, 8, 16}) {
      if (small_cases() && threads > 2) break;
      CAPTURE(threads);
      if (!options.accelerator) options.threads = threads;
      check_same(one, run_all(options, kOdd, act, true, true));
    }
  });
}

TEST_CASE("width 192 with sums over 16384 rows: the same bits for 1, 2 and 16 threads") {
  if (subjects().front().options.guarded || on_accelerator()) return;  // oneDNN's threads
  for (const DType act : kActTypes) {
    CAPTURE(name_of(act));
    const Results one = run_all({.threads = 1}, kLong, act, true, false);
    for (const int threads : {2, 16}) {
      CAPTURE(threads);
      check_same(one, run_all({.threads = threads}, kLong, act, true, false));
    }
  }
}

TEST_CASE("our own loops give the same bits with every instruction set") {
  const std::vector<Subject> all = cpu_subjects();
  for (const DType act : kActTypes) {
    CAPTURE(name_of(act));
    const Results first = run_all(all.front().options, kOdd, act, false, true);
    for (const Subject& subject : all) {
      CAPTURE(subject.name);
      check_same(first, run_all(subject.options, kOdd, act, false, true));
    }
  }
}

TEST_CASE("updates, masks, draws and leaf sums have the CPU's bits on every backend") {
  const std::string_view alike[] = {
      "dropout",       "add",    "normal",       "AdamW master",    "AdamW m",     "AdamW v",
      "AdamW weights", "Lion m", "Lion weights", "Lion low halves", "leaf squares"};
  for_each_subject([&](const Subject& subject, DType act) {
    const Results cpu = run_all(cpu_subjects().front().options, kOdd, act, false, true);
    const Results here = run_all(subject.options, kOdd, act, false, true);
    REQUIRE(cpu.size() == here.size());
    std::size_t compared = 0;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      const std::string& op = cpu[i].first;
      if (std::find(std::begin(alike), std::end(alike), op) == std::end(alike)) continue;
      ++compared;
      CAPTURE(op);
      CHECK((cpu[i].second == here[i].second));
    }
    CHECK(compared == std::size(alike));
  });
}

}  // namespace ds::conformance
