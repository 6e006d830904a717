// The sentences: first what happened, where and why, then what became of the rest.
#include "launcher/job/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>

#include "launcher/hosts/bad_hosts.h"
#include "runner/contract.h"

namespace ds::launcher {

namespace {

// In a sentence; the JSON form has them all.
constexpr std::size_t kNodesNamed = 4;

const std::string& node_name(const Placement& placement, int node) {
  return placement.nodes[static_cast<std::size_t>(node)].host.name;
}

std::string deadline_text(const Placement& placement, const Cause& cause) {
  const std::string text = fmt::format("the deadline of {} has passed", span_text(cause.span));
  if (!cause.reason.empty()) return fmt::format("{}: {}", text, cause.reason);
  if (cause.running.empty())
    return text + ": all ranks had ended, something that they left had not";
  return fmt::format("{}: {} still ran: {}", text,
                     count_of(static_cast<int>(cause.running.size()), "rank"),
                     ranks_by_node(placement, cause.running));
}

/// A reason names its host; where that is the node's own name, once is enough.
std::string lost_text(const std::string& node, std::string_view reason) {
  if (reason.starts_with(node + ": ")) reason.remove_prefix(node.size() + 2);
  return fmt::format("node {} is lost: {}", node, reason);
}

}  // namespace

int exit_code(const Cause& cause) {
  switch (cause.kind) {
    case Cause::Kind::none:
      return 0;
    case Cause::Kind::rank:
      return cause.end.status.shell_code();
    case Cause::Kind::node:
    case Cause::Kind::unreachable:
      return contract::kExitUnreachable;
    case Cause::Kind::signal:
      return 128 + cause.signo;
    case Cause::Kind::output:
      return 128 + SIGPIPE;
    case Cause::Kind::deadline:
    case Cause::Kind::skew:
      return contract::kExitDeadline;
  }
  return contract::kExitBug;
}

std::string cause_text(const Placement& placement, const Cause& cause) {
  switch (cause.kind) {
    case Cause::Kind::none:
    case Cause::Kind::unreachable:
      return {};
    case Cause::Kind::rank:
      return fmt::format("{}: {}", rank_name(placement, cause.rank), describe(cause.end));
    case Cause::Kind::node:
      return lost_text(node_name(placement, cause.node), cause.reason);
    case Cause::Kind::signal:
      return cause.signo == SIGINT ? "interrupted"
                                   : fmt::format("got {}", signal_name(cause.signo));
    case Cause::Kind::output:
      return cause.reason.empty() ? "standard output was closed"
                                  : "standard output cannot be written: " + cause.reason;
    case Cause::Kind::deadline:
      return deadline_text(placement, cause);
    case Cause::Kind::skew:
      return fmt::format("{} of {} still {}, {} after another ended with 0: {}",
                         cause.running.size(), count_of(placement.world_size(), "rank"),
                         cause.running.size() == 1 ? "runs" : "run", span_text(cause.span),
                         ranks_by_node(placement, cause.running));
  }
  return {};
}

std::string headline(const JobVerdict& verdict) {
  const Cause& cause = verdict.cause;
  std::string text = cause_text(verdict.placement, cause);
  if (text.empty()) return text;
  if (cause.kind == Cause::Kind::rank && verdict.placement.world_size() > 1)
    text += " (first failure)";
  const auto stopped = std::count_if(verdict.ranks.begin(), verdict.ranks.end(),
                                     [](const RankRecord& rank) { return rank.after_cause; });
  const auto killed =
      std::count_if(verdict.ranks.begin(), verdict.ranks.end(), [](const RankRecord& rank) {
        return rank.after_cause && rank.end.status.signal() == SIGKILL;
      });
  if (stopped > 0) {
    const bool after = cause.kind == Cause::Kind::rank || cause.kind == Cause::Kind::node;
    text += fmt::format("; {} stopped{}", count_of(static_cast<int>(stopped), "rank"),
                        after ? " after it" : "");
    if (killed > 0) text += killed == stopped ? ", by KILL" : fmt::format(", {} by KILL", killed);
  }
  if (!cause.note.empty()) text += "; " + cause.note;
  return printable(text);
}

std::string waiting_text(const Placement& placement, const Cause& cause, int ranks_left,
                         std::chrono::milliseconds left) {
  return printable(fmt::format(
      "{}; waiting up to {} s for {} to stop", cause_text(placement, cause),
      std::chrono::ceil<std::chrono::seconds>(left).count(), count_of(ranks_left, "rank")));
}

std::string unreachable_text(const Placement& placement, const std::vector<BadNode>& bad) {
  std::vector<BadHost> hosts;
  for (const BadNode& node : bad)
    hosts.push_back({node_name(placement, node.node), node.stage, node.reason});
  if (hosts.size() == 1) return bad_host_line(hosts.front());
  return fmt::format("{} of {} cannot be used:\n{}", bad.size(),
                     count_of(static_cast<int>(placement.nodes.size()), "node"),
                     bad_hosts_table(hosts, "  "));
}

std::string ranks_by_node(const Placement& placement, const std::vector<int>& ranks) {
  std::vector<std::vector<int>> by_node(placement.nodes.size());
  for (const int rank : ranks)
    by_node[static_cast<std::size_t>(placement.ranks[static_cast<std::size_t>(rank)].node_rank)]
        .push_back(placement.shown_rank(rank));
  std::string text;
  std::size_t named = 0, others = 0;
  for (std::size_t node = 0; node < by_node.size(); ++node) {
    if (by_node[node].empty()) continue;
    if (named == kNodesNamed) {
      ++others;
      continue;
    }
    text += fmt::format("{}{} on {}", named++ > 0 ? "; " : "", number_ranges(by_node[node]),
                        node_name(placement, static_cast<int>(node)));
  }
  if (others > 0)
    text += fmt::format("; and on {}", count_of(static_cast<int>(others), "more node"));
  return text;
}

std::string rank_name(const Placement& placement, int rank) {
  const RankPlace& place = placement.ranks[static_cast<std::size_t>(rank)];
  const std::string group =
      placement.groups.size() > 1
          ? fmt::format(" (group {})", placement.groups[static_cast<std::size_t>(place.group)].name)
          : "";
  return fmt::format("rank {}{} on {}", placement.shown_rank(rank), group,
                     node_name(placement, place.node_rank));
}

std::string number_ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return fmt::format("[{}]", text);
}

std::string count_of(int number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string span_text(std::chrono::milliseconds span) {
  const auto count = span.count();
  if (count >= 600'000 && count % 60'000 == 0) return fmt::format("{} min", count / 60'000);
  if (count < 1000) return fmt::format("{} ms", count);
  return fmt::format("{:.6g} s", static_cast<double>(count) / 1000);
}

std::string not_ready_text(bool greeted, std::chrono::milliseconds span) {
  if (greeted) return "its agent was not ready within " + span_text(span);
  return fmt::format(
      "no agent answered within {}; a start-up file of the login shell, or a forced command of the "
      "site, may wait for something there",
      span_text(span));
}

std::string printable(std::string_view text) {
  std::string clean(text);
  for (char& letter : clean) {
    const auto byte = static_cast<unsigned char>(letter);
    if ((byte < 0x20 && letter != '\n') || byte == 0x7f) letter = '?';
  }
  return clean;
}

}  // namespace ds::launcher
