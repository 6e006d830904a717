#include "launcher/exec/results.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "engine/base/contract.h"
#include "launcher/hosts/bad_hosts.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher::exec {
namespace {

using NodeLines = ByText<std::string>;

std::string text_of(const NodeLines& lines, std::string_view indent) {
  std::string text;
  for (const auto& [words, names] : lines) {
    const std::string count = names.size() > 1 ? fmt::format(" ({})", names.size()) : "";
    text += fmt::format("{}{}{}: {}\n", indent, fold_names(names), count, printable(words));
  }
  return text;
}

std::string without_newline(std::string text) {
  if (!text.empty()) text.pop_back();
  return text;
}

std::string words_of(const NodeResult& result) {
  switch (result.kind) {
    case NodeResult::Kind::exited:
      return result.end.status.success() ? "" : describe(result.end);
    case NodeResult::Kind::timed_out:
      return "stopped at the time limit (-u)";
    case NodeResult::Kind::stopped:
      return "stopped";
    case NodeResult::Kind::not_started:
      return "not started";
    default:
      return {};
  }
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
  NodeLines ended, lost, stopped;
  std::vector<BadHost> unreachable;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const NodeResult& result = results[i];
    if (result.kind == NodeResult::Kind::unreachable)
      unreachable.push_back({names[i], result.stage, result.reason});
    else if (result.kind == NodeResult::Kind::lost)
      lost.add(fmt::format("lost: {}", without_name(names[i], result.reason)), names[i]);
    else if (const std::string words = words_of(result); !words.empty())
      (is_consequence(result) ? stopped : ended).add(words, names[i]);
  }
  constexpr std::string_view kOurs = "dslaunch: ";
  std::string text = text_of(ended, kOurs) + text_of(lost, kOurs) + text_of(stopped, kOurs);
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
  NodeLines lines;
  for (const auto& [stage, words] :
       {std::pair{NodeStage::running, "running"}, std::pair{NodeStage::connecting, "connecting"},
        std::pair{NodeStage::waiting, "not started yet"}})
    for (std::size_t i = 0; i < stages.size(); ++i)
      if (stages[i] == stage) lines.add(words, names[i]);
  return without_newline(text_of(lines, "  "));
}

std::string killed_text(const std::vector<std::string>& names,
                        const std::vector<std::uint32_t>& killed) {
  std::uint64_t sum = 0;
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < killed.size(); ++i) {
    if (killed[i] == 0) continue;
    sum += killed[i];
    nodes.push_back(names[i]);
  }
  if (sum == 0) return {};
  return fmt::format("dslaunch: {} background process{} killed on {}; --leave lets them live", sum,
                     sum == 1 ? "" : "es", fold_names(nodes));
}

}  // namespace ds::launcher::exec
