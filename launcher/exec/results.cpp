#include "launcher/exec/results.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "engine/base/contract.h"
#include "launcher/hosts/bad_hosts.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/verdict.h"

namespace ds::launcher::exec {
namespace {

/// Maps each text to the nodes that it applies to, in order of first appearance.
class Lines {
 public:
  void add(const std::string& words, const std::string& name) {
    for (Line& line : lines_)
      if (line.words == words) return line.names.push_back(name);
    lines_.push_back({words, {name}});
  }
  [[nodiscard]] std::string text(std::string_view indent) const {
    std::string text;
    for (const Line& line : lines_) {
      const std::string count =
          line.names.size() > 1 ? fmt::format(" ({})", line.names.size()) : "";
      text +=
          fmt::format("{}{}{}: {}\n", indent, fold_names(line.names), count, printable(line.words));
    }
    return text;
  }

 private:
  struct Line {
    std::string words;
    std::vector<std::string> names;
  };
  std::vector<Line> lines_;
};

std::string without_newline(std::string text) {
  if (!text.empty()) text.pop_back();
  return text;
}

/// Turns "node07: refused" into "refused": the line already begins with the name.
std::string without_name(const std::string& reason, const std::string& name) {
  const bool named = reason.starts_with(name + ": ");
  return named ? reason.substr(name.size() + 2) : reason;
}

std::string words_of(const NodeResult& result) {
  switch (result.kind) {
    case NodeResult::Kind::none:
    case NodeResult::Kind::unreachable:
    case NodeResult::Kind::lost:
      return {};
    case NodeResult::Kind::exited:
      if (result.end.status.success()) return {};
      return describe(result.end);
    case NodeResult::Kind::timed_out:
      return "stopped at the time limit (-u)";
    case NodeResult::Kind::stopped:
      return "stopped";
    case NodeResult::Kind::not_started:
      return "not started";
  }
  return {};
}

/// Returns whether the result follows from a failure with -k or from a signal. Causes are listed
/// first.
bool is_consequence(const NodeResult& result) {
  return result.kind == NodeResult::Kind::stopped || result.kind == NodeResult::Kind::not_started;
}

}  // namespace

int code_of(const NodeResult& result) {
  switch (result.kind) {
    case NodeResult::Kind::none:
    case NodeResult::Kind::not_started:
      return 0;
    case NodeResult::Kind::exited:
    case NodeResult::Kind::stopped:
      return result.end.status.shell_code();
    case NodeResult::Kind::unreachable:
    case NodeResult::Kind::lost:
      return contract::kExitUnreachable;
    case NodeResult::Kind::timed_out:
      return contract::kExitDeadline;
  }
  return contract::kExitBug;
}

std::string results_text(const std::vector<std::string>& names,
                         const std::vector<NodeResult>& results) {
  Lines ended, lost, stopped;
  std::vector<BadHost> unreachable;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const NodeResult& result = results[i];
    if (result.kind == NodeResult::Kind::unreachable)
      unreachable.push_back({names[i], result.stage, result.reason});
    else if (result.kind == NodeResult::Kind::lost)
      lost.add("lost: " + without_name(result.reason, names[i]), names[i]);
    else if (const std::string words = words_of(result); !words.empty())
      (is_consequence(result) ? stopped : ended).add(words, names[i]);
  }
  constexpr std::string_view kOurs = "dslaunch: ";
  std::string text = ended.text(kOurs) + lost.text(kOurs) + stopped.text(kOurs);
  const std::size_t count = unreachable.size();
  const std::string_view word = results.size() == 1 ? "node was"
                                : count == 1        ? "nodes was"
                                                    : "nodes were";
  if (count > 0)
    text += fmt::format("{}{} of {} {} not reached:\n{}\n", kOurs, count, results.size(), word,
                        bad_hosts_table(unreachable, "  "));
  return without_newline(std::move(text));
}

std::string stages_text(const std::vector<std::string>& names,
                        const std::vector<NodeStage>& stages) {
  Lines lines;
  for (const auto& [stage, words] :
       {std::pair{NodeStage::running, "running"}, std::pair{NodeStage::connecting, "connecting"},
        std::pair{NodeStage::waiting, "not started yet"}})
    for (std::size_t i = 0; i < stages.size(); ++i)
      if (stages[i] == stage) lines.add(words, names[i]);
  return without_newline(lines.text("  "));
}

}  // namespace ds::launcher::exec
