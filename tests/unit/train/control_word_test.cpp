// Tests of the control word: the same however the ranks' words are joined.
#include "engine/train/control_word.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/error.h"

using ds::ControlWord;

namespace {

ControlWord word_of(int rank) {
  ControlWord word{.rank = rank, .step = 7, .epoch = 2, .tokens = 10 + rank};
  word.norm_squared.add(0.1 * (rank + 1));
  word.loss.add(3.0 * (rank + 1));
  return word;
}

// Joins the words of ranks in order, as the tree of a large group does or one after the other.
ControlWord joined(std::vector<ControlWord> words, bool by_tree) {
  for (std::size_t step = 1; step < words.size(); step *= by_tree ? 2 : words.size()) {
    for (std::size_t i = 0; i + step < words.size(); i += by_tree ? 2 * step : words.size())
      ds::join(words[i], words[i + step]);
    for (std::size_t i = 2; i < words.size() && !by_tree; ++i) ds::join(words[0], words[i]);
  }
  return words[0];
}

ds::StepDecision decided(const std::vector<ControlWord>& words) {
  CHECK(joined(words, true) == joined(words, false));
  return ds::decide(joined(words, true));
}

}  // namespace

TEST_CASE("the decision adds up, takes rank 0's rates, and does not depend on the grouping") {
  std::vector<ControlWord> words{word_of(0), word_of(1), word_of(2)};
  words[0].lr = 0.5;
  words[0].bias_correction1 = 0.25;
  words[1].lr = 99;
  words[2].wish_stop = true;
  words[1].non_finite = 4;
  words[0].save_written = 4;
  words[1].save_written = 5;
  words[2].save_written = 5;
  words[2].save_failed = 5;
  words[0].save_over = 4;
  words[1].save_over = 9;
  words[0].kept = words[2].kept = 3;
  words[1].kept = 2;
  words[1].keep_failed = 3;
  words[1].wish_pause = true;
  words[2].time_to_keep = true;
  const ds::StepDecision decision = decided(words);
  CHECK(decision.all.step == 7);
  CHECK(decision.all.tokens == 33);
  CHECK(decision.loss == 18.0 / 33);
  CHECK(decision.norm * decision.norm == doctest::Approx(0.6));
  CHECK(decision.all.non_finite == 4);
  CHECK(decision.all.wish_stop);
  CHECK_FALSE(decision.all.wish_save);
  CHECK(decision.all.save_written == 4);
  CHECK(decision.all.save_failed == 5);
  CHECK(decision.all.save_over == 4);
  CHECK(decision.all.kept == 2);
  CHECK(decision.all.keep_failed == 3);
  CHECK(decision.all.wish_pause);
  CHECK_FALSE(decision.all.time_to_keep);
  CHECK(decision.all.lr == 0.5);
  CHECK(decision.all.bias_correction1 == 0.25);
}

TEST_CASE("the same parts on any number of ranks give the same bits") {
  double norm = -1, loss = -1;
  for (int world = 1; world <= 12; ++world) {
    std::vector<ControlWord> words(static_cast<std::size_t>(world));
    for (int part = 0; part < 12; ++part) {
      ControlWord& word = words[static_cast<std::size_t>(part * world / 12)];
      word.norm_squared.add(0.1 / (part + 3));
      word.loss.add(1.0 / (part + 7));
      word.tokens += 3;
    }
    for (int rank = 0; rank < world; ++rank) words[static_cast<std::size_t>(rank)].rank = rank;
    const ds::StepDecision decision = decided(words);
    if (world > 1) CHECK(decision.norm == norm);
    if (world > 1) CHECK(decision.loss == loss);
    norm = decision.norm;
    loss = decision.loss;
  }
}

TEST_CASE("no tokens: the loss is zero, not NaN") {
  const std::vector<ControlWord> words(1);
  CHECK(decided(words).loss == 0);
}

TEST_CASE("a rank at another step is named") {
  std::vector<ControlWord> words{word_of(0), word_of(1), word_of(2)};
  words[2].step = 8;
  words.push_back(word_of(3));
  try {
    decided(words);
    FAIL("must throw");
  } catch (const ds::Error& error) {
    CHECK(std::string(error.what()) ==
          "rank 2 is at step 8 of epoch 2, rank 0 at step 7 of epoch 2");
  }
}

TEST_CASE("the times are those of the rank that works longest outside communication") {
  std::vector<ControlWord> words{word_of(0), word_of(1), word_of(2), word_of(3)};
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    ds::PhaseSeconds& phases = words[rank].phases;
    of_phase(phases, ds::StepPhase::forward) = rank == 2 ? 0.5 : 0.25;
    of_phase(phases, ds::StepPhase::reduce) = rank == 2 ? 0.0 : 9.0;
    words[rank].own_work = ds::own_work(phases);
    words[rank].slowest = words[rank].rank;
  }
  const ControlWord all = decided(words).all;
  CHECK(all.slowest == 2);
  CHECK(all.phases == words[2].phases);
  words[2].own_work = 0.25;  // no rank is slower than the others
  CHECK(decided(words).all.slowest == 0);
}
