// What all ranks of a training must have in common, as lines "name = value": how the lines become
// one line of text, and how two lists differ. Rank 0 tells them at its start, and
// `dsrunner --check=facts` prints those of a node that may join. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds {

/// What `dsrunner --check=facts` prints before the line.
inline constexpr std::string_view kFactsPrefix = "facts: ";

/// Names of facts that say whether the states of the training outlive its ranks.
inline constexpr std::string_view kKeepsFact = "keeps states";  // in memory: yes, no
inline constexpr std::string_view kSavesFact = "saves states";  // on disk: yes, no, kNotOnSignals
/// Saved for a pause, but not before a signal stops the job.
inline constexpr std::string_view kNotOnSignals = "not on signals";

/// One name whose values differ; a value is empty where the list does not have the name.
struct FactDifference {
  std::string name{}, here{}, there{};
  friend bool operator==(const FactDifference&, const FactDifference&) = default;
};

/// Returns the lines as one line without control bytes.
std::string one_line_of_facts(std::string_view lines);
/// Returns the value of a name in such a line; empty: it has none.
std::string fact_value(std::string_view line, std::string_view name);
/// Returns the names, in order, whose values in the lists `here` and `there` differ. Both are the
/// results of one_line_of_facts(), or any text from elsewhere.
std::vector<FactDifference> fact_differences(std::string_view here, std::string_view there);

}  // namespace ds
