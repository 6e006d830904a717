#include "launcher/copy/copy_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "launcher/hosts/fold_names.h"
#include "launcher/job/verdict.h"

namespace ds::launcher::copy {
namespace {

using Kind = exec::NodeResult::Kind;

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

int count_finished(const std::vector<NodeOutcome>& nodes) {
  return static_cast<int>(std::ranges::count_if(nodes, &NodeOutcome::finished));
}

/// Returns whether the node has everything.
bool is_whole(const NodeOutcome& node) { return node.finished && node.problem.empty(); }

std::uint64_t sum_of_bytes(const std::vector<NodeOutcome>& nodes) {
  std::uint64_t sum = 0;
  for (const NodeOutcome& node : nodes) sum += node.bytes;
  return sum;
}

std::string text_of(const ByText<std::string>& lines) {
  std::string text;
  for (const auto& [words, hosts] : lines)
    text += fmt::format("dslaunch: {}: {}\n", fold_names(hosts), printable(words));
  return text;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  constexpr std::string_view kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  for (; value >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string progress_text(const std::vector<NodeOutcome>& nodes, std::chrono::milliseconds spent) {
  const std::uint64_t bytes = sum_of_bytes(nodes);
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(spent.count(), 1));
  return fmt::format("{}, {}/s, {} of {} nodes done", bytes_text(bytes),
                     bytes_text(bytes / ms * 1000 + bytes % ms * 1000 / ms), count_finished(nodes),
                     nodes.size());
}

std::string summary_text(const std::vector<NodeOutcome>& nodes, std::string_view way,
                         std::chrono::milliseconds spent) {
  std::uint32_t files = 0;  // of the node with most
  std::uint64_t all_unchanged = 0;
  for (const NodeOutcome& node : nodes) {
    files = std::max(files, node.copied + node.unchanged);
    all_unchanged += node.unchanged;
  }
  std::string text =
      fmt::format("{} file{} {} {} of {} node{}: {} in {:.1f} s", files, files == 1 ? "" : "s", way,
                  std::ranges::count_if(nodes, is_whole), nodes.size(),
                  nodes.size() == 1 ? "" : "s",
                  bytes_text(sum_of_bytes(nodes)), static_cast<double>(spent.count()) / 1000);
  if (all_unchanged > 0)
    text += fmt::format("; {} file{} equal already", all_unchanged,
                        all_unchanged == 1 ? " was" : "s were");
  return text;
}

void join_results(std::vector<NodeOutcome>& nodes, std::vector<exec::NodeResult>& results,
                  const std::vector<std::string>& said) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeOutcome& node = nodes[i];
    // In a tree the programs of nodes that have everything stay, for others to get files from.
    if (results[i].kind == Kind::timed_out && node.finished) results[i] = {};
    if (results[i].kind == Kind::lost && !node.problem.empty()) {  // one line says both
      node.problem.clear();
      node.finished = false;
    }
    if (results[i].kind != Kind::exited) continue;
    if (!results[i].end.status.success() && node.problem.empty())
      node.problem =
          said[i].empty() ? "the copy there: " + describe(results[i].end) : last_line(said[i]);
    if (node.problem.empty() && !node.finished) node.problem = "the copy there ended early";
    results[i] = {};
  }
}

std::string failures_text(const std::vector<std::string>& names,
                          const std::vector<NodeOutcome>& nodes) {
  ByText<std::string> lines;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeOutcome& node = nodes[i];
    if (node.problem.empty()) continue;
    lines.add(node.failed > 1 ? fmt::format("{} (and {} more)", node.problem, node.failed - 1)
                              : node.problem,
              names[i]);
  }
  return text_of(lines);
}

std::string remarks_text(const std::vector<std::string>& names,
                         const std::vector<NodeOutcome>& nodes,
                         const std::vector<std::string>& said) {
  ByText<std::string> lines;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].problem.empty() && !said[i].empty()) lines.add(last_line(said[i]), names[i]);
  return text_of(lines);
}

void GrownFiles::add(const std::string& path, std::optional<std::uint64_t> size) {
  if (count++ > 0) return;
  const std::string copied = size ? bytes_text(*size) : "bytes";
  first = fmt::format("{} grew while it was copied; only its first {} were copied; copy it again "
                      "if it is not a log",
                      path, copied);
}

std::string GrownFiles::text() const {
  return count > 1 ? fmt::format("{} (and {} more)", first, count - 1) : first;
}

std::string grown_text(const GrownFiles& here, const std::vector<std::string>& names,
                       const std::vector<NodeOutcome>& nodes) {
  ByText<std::string> lines;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].grown.count > 0) lines.add(nodes[i].grown.text(), names[i]);
  const std::string own = here.text();
  return (own.empty() ? own : fmt::format("dslaunch: {}\n", printable(own))) + text_of(lines);
}

int copy_code(const std::vector<NodeOutcome>& nodes, const std::vector<exec::NodeResult>& results) {
  int code = 0;
  for (const exec::NodeResult& result : results) code = std::max(code, exec::code_of(result));
  if (code == 0 && std::ranges::any_of(nodes, [](const auto& n) { return !n.problem.empty(); }))
    code = 1;
  return code;
}

}  // namespace ds::launcher::copy
