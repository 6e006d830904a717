// Counts the outcomes of trials and prints tables.
#include "e2e/checkpoint/tally.h"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace ds::test {
namespace {

/// Returns a table with one row per key. Columns: those given, then others that occur.
std::string table(const std::string& title,
                  const std::map<std::string, std::map<std::string, int>>& rows,
                  std::vector<std::string> columns) {
  std::set<std::string> known(columns.begin(), columns.end());
  for (const auto& [name, row] : rows)
    for (const auto& [column, count] : row)
      if (known.insert(column).second) columns.push_back(column);
  std::string text = fmt::format("\n| {} |", title), line = "|---|";
  for (const std::string& column : columns) {
    text += fmt::format(" {} |", column);
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const auto& [name, row] : rows) {
    text += fmt::format("| {} |", name);
    for (const std::string& column : columns)
      text += row.contains(column) ? fmt::format(" {} |", row.at(column)) : " |";
    text += "\n";
  }
  return text;
}

}  // namespace

void Tally::add(const DrawnTrial& drawn, const Judgement& judgement, const Found& found,
                bool harmed, bool other_world) {
  ++trials_;
  bad_ += judgement.wrong.empty() ? 0 : 1;
  finished_ += judgement.ended_well ? 1 : 0;
  saves_ += static_cast<std::int64_t>(judgement.said.saved.size());
  failed_ += static_cast<std::int64_t>(judgement.said.failed.size());
  for (const SavedStep& saved : judgement.left) {
    read_ += saved.good() ? 1 : 0;
    pieces_ += saved.pieces;
  }
  if (!judgement.killed.empty()) {
    ++kills_;
    ++killed_[judgement.killed + (drawn.spec.launched ? ", launched" : "")][judgement.during];
  }
  const std::string end = !judgement.killed.empty()        ? "killed"
                          : !judgement.ended_well          ? "ended with a message"
                          : !judgement.said.failed.empty() ? "warned, trained on to the end"
                                                           : "trained on to the end";
  for (const std::string& fault : judgement.faults) ++faults_[fault][end];
  const std::string from = found.is_refused()               ? "none is good: refused"
                           : judgement.said.first_step == 0 ? "nowhere: no step was taken"
                           : harmed                         ? "an older one: the newest was harmed"
                           : !found.newer_bad.empty()       ? "an older one: the newest was no good"
                           : found.newest_good > 0          ? "the newest"
                                                            : "the start";
  ++resumed_[from][end];
  if (judgement.said.resumed)
    ++resumed_[from][other_world ? "another world size" : "as many ranks"];
}

std::string Tally::text() const {
  std::string text = fmt::format(
      "{} trials, {} of them killed, {} came to the last step with the weights of an uninterrupted "
      "run.\n{} saves were reported as done, {} as failed. After the trials {} complete "
      "checkpoints were read ({} pieces):\nall values and the state of training were those of an "
      "uninterrupted run at that step.\nBad: {}.\n",
      trials_, kills_, finished_, saves_, failed_, read_, pieces_, bad_);
  text += table("killed (SIGKILL) by doing", killed_,
                {"starting", "snapshot", "beginning", "chunk", "part", "manifest", "rename",
                 "latest", "thinning out", "between saves"});
  text += table(
      "fault", faults_,
      {"warned, trained on to the end", "trained on to the end", "ended with a message", "killed"});
  text += table("went on from", resumed_,
                {"trained on to the end", "warned, trained on to the end", "ended with a message",
                 "killed", "as many ranks", "another world size"});
  return text;
}

}  // namespace ds::test
