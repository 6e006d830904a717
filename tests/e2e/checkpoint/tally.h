// Tally: outcomes of all trials as tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "e2e/checkpoint/judge.h"

namespace ds::test {

class Tally {
 public:
  /// `harmed`: the newest checkpoint was damaged before the trial. `other_world`: its files were
  /// last written by a different number of ranks.
  void add(const DrawnTrial& drawn, const Judgement& judgement, const Found& found, bool harmed,
           bool other_world);

  [[nodiscard]] int trials() const { return trials_; }
  [[nodiscard]] int kills() const { return kills_; }
  [[nodiscard]] int bad() const { return bad_; }
  [[nodiscard]] std::string text() const;  // Markdown

 private:
  using Row = std::map<std::string, int>;

  int trials_ = 0, kills_ = 0, bad_ = 0, finished_ = 0;
  std::int64_t saves_ = 0, failed_ = 0, read_ = 0, pieces_ = 0;
  std::map<std::string, Row> killed_;   // who was killed -> in which phase
  std::map<std::string, Row> faults_;   // fault -> outcome
  std::map<std::string, Row> resumed_;  // source -> outcome
};

}  // namespace ds::test
