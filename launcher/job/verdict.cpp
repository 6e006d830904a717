#include "launcher/job/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>

#include "engine/base/contract.h"
#include "engine/base/units.h"
#include "launcher/hosts/bad_hosts.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {
namespace {

// The system's message for E2BIG does not mention that a single argument may be too long.
constexpr std::string_view kTooBig =
    " (one word may have 128 KiB, all words and variables what `getconf ARG_MAX` says); give it by "
    "standard input or in a file";

/// Describes a program that exec did not find, or whose interpreter or library is missing.
std::string why_missing(const Exited& exited) {
  if (exited.spawn_errno == ELIBACC)
    return "the interpreter in its first line, or its ELF loader, does not exist; the script may "
           "have Windows line endings";
  return exited.detail.find('/') == std::string::npos ? "not found in PATH" : "not found";
}

// The limit of a sentence; the JSON form names all nodes.
constexpr std::size_t kNodesNamed = 4;

std::string deadline_text(const Placement& placement, const Cause& cause) {
  const std::string text = fmt::format("the deadline of {} has passed", span_text(cause.span));
  if (!cause.reason.empty()) return fmt::format("{}: {}", text, cause.reason);
  if (cause.running.empty())
    return text + ": all ranks had ended, but processes that they started had not";
  return fmt::format(
      "{}: {} still running: {}", text,
      cause.running.size() == 1 ? "1 rank was" : fmt::format("{} ranks were", cause.running.size()),
      ranks_by_node(placement, cause.running));
}

std::string fence_text(const Placement& placement, const Cause& cause) {
  const std::string ranks = ranks_by_node(placement, cause.running);
  if (cause.span.count() == 0)
    return fmt::format("MPI ranks wait in a fence for {}, which exited without joining it", ranks);
  return fmt::format("an MPI fence did not complete within {}: {} did not join it",
                     span_text(cause.span), ranks);
}

/// Returns an exit code for what a rank gave to MPI_Abort; never that of success.
int mpi_exit_code(int code) {
  const int low = code & 0xFF;  // as exit(3)
  return low == 0 ? 1 : low;
}

std::string signal_text(const Cause& cause) {
  const std::string text =
      cause.signo == SIGINT ? "interrupted" : fmt::format("got {}", signal_name(cause.signo));
  return cause.reason.empty() ? text : fmt::format("{}: {}", text, cause.reason);
}

}  // namespace

RankEnd rank_end(const Exited& exited) {
  const std::string why = std::generic_category().message(exited.spawn_errno);
  switch (exited.stage) {
    case Exited::Stage::none:
      if (exited.wait_status == -1) return {ExitStatus::lost(), {}, exited.detail};
      return {ExitStatus::from_wait_status(exited.wait_status), {}, exited.detail};
    case Exited::Stage::fork:
      return {ExitStatus::exited(1), fmt::format("cannot start a process: {}", why), {}};
    case Exited::Stage::chdir:
      return {ExitStatus::exited(contract::kExitConfig),
              fmt::format("cannot enter the working directory '{}': {}; create it on that node or "
                          "choose another with --wdir",
                          exited.detail, why),
              {}};
    case Exited::Stage::bind:
      return {ExitStatus::exited(1),
              fmt::format("cannot be bound to its processors (--bind): {}", why),
              {}};
    case Exited::Stage::hold:
      return {ExitStatus::exited(1),
              fmt::format("cannot be stopped at its start for the debugger (ptrace): {}", why),
              {}};
    case Exited::Stage::exec:
      const bool missing = exited.spawn_errno == ENOENT || exited.spawn_errno == ELIBACC;
      const std::string reason = missing                       ? why_missing(exited)
                                 : exited.spawn_errno == E2BIG ? why + std::string(kTooBig)
                                                               : why;
      return {ExitStatus::exited(missing ? contract::kExitNotFound : contract::kExitNotExecutable),
              fmt::format("cannot run {}: {}", exited.detail, reason),
              {}};
  }
  return {};
}

std::string describe(const RankEnd& end) {
  if (!end.cause.empty()) return end.cause;
  return end.note.empty() ? end.status.describe()
                          : fmt::format("{}: {}", end.status.describe(), end.note);
}

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
    case Cause::Kind::input:
      return 1;
    case Cause::Kind::mpi:
      return mpi_exit_code(cause.code);
    case Cause::Kind::fence:
      return cause.span.count() == 0 ? 1 : contract::kExitDeadline;
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
      return fmt::format("node {} is lost: {}", node_name(placement, cause.node),
                         without_name(node_name(placement, cause.node), cause.reason));
    case Cause::Kind::signal:
      return signal_text(cause);
    case Cause::Kind::output:
      return cause.reason.empty() ? "standard output was closed"
                                  : "standard output cannot be written: " + cause.reason;
    case Cause::Kind::deadline:
      return deadline_text(placement, cause);
    case Cause::Kind::skew:
      return fmt::format("{} of {} {} still running {} after another ended with 0: {}",
                         cause.running.size(), counted(placement.world_size(), "rank"),
                         cause.running.size() == 1 ? "was" : "were", span_text(cause.span),
                         ranks_by_node(placement, cause.running));
    case Cause::Kind::input:
      return "cannot read standard input: " + cause.reason;
    case Cause::Kind::mpi:
      return fmt::format("{} {}", rank_name(placement, cause.rank), cause.reason);
    case Cause::Kind::fence:
      return fence_text(placement, cause);
  }
  return {};
}

std::string loss_text(const NodeLoss& loss) {
  if (loss.sweep != NodeLoss::Sweep::done)
    return fmt::format("{} could not be reached again; any surviving agent will stop its ranks",
                       loss.host);
  if (loss.killed == 0)
    return fmt::format("{} was reached again: no leftover processes found", loss.host);
  return fmt::format("{} was reached again: {} killed there", loss.host,
                     loss.killed == 1 ? "1 leftover process was"
                                      : fmt::format("{} leftover processes were", loss.killed));
}

std::string headline(const JobVerdict& verdict) {
  const Cause& cause = verdict.cause;
  std::string text = cause_text(verdict.placement, cause);
  if (text.empty()) return text;
  if (is_of_rank(cause) && verdict.placement.world_size() > 1) text += " (first failure)";
  const auto ended = std::ranges::count(verdict.ranks, true, &RankRecord::after_cause);
  const auto killed = std::ranges::count_if(verdict.ranks, [](const RankRecord& rank) {
    return rank.after_cause && rank.end.status.signal() == SIGKILL;
  });
  if (ended > 0) {
    const bool after = is_of_rank(cause) || cause.kind == Cause::Kind::node;
    text += fmt::format("; {} {}", counted(static_cast<int>(ended), "rank"),
                        after ? "ended after it" : "stopped");
    if (killed > 0) text += killed == ended ? ", by KILL" : fmt::format(", {} by KILL", killed);
  }
  if (!cause.note.empty()) text += "; " + cause.note;
  return printable(text);
}

std::string waiting_text(const std::string& why, int ranks_left, std::chrono::milliseconds left) {
  return printable(fmt::format(
      "{}; waiting up to {} s for {} to stop", why,
      std::chrono::ceil<std::chrono::seconds>(left).count(), counted(ranks_left, "rank")));
}

std::string unreachable_text(const Placement& placement, const std::vector<BadNode>& bad) {
  std::vector<BadHost> hosts;
  for (const BadNode& node : bad)
    hosts.push_back({node_name(placement, node.node), node.stage, node.reason});
  if (hosts.size() == 1) return bad_host_line(hosts.front());
  return fmt::format("{} of {} cannot be used:\n{}", bad.size(),
                     counted(static_cast<int>(placement.nodes.size()), "node"),
                     bad_hosts_table(hosts, "  "));
}

std::string no_host_text(const Placement& placement, const std::vector<BadNode>& vacant) {
  const std::string& name = node_name(placement, vacant.front().node);
  std::string text = fmt::format("no host is left to take the place of {} ({})", name,
                                 without_name(name, vacant.front().reason));
  if (vacant.size() > 1)
    text += fmt::format(" and of {}", counted(static_cast<int>(vacant.size()) - 1, "more node"));
  return text;
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
    text += fmt::format("; and on {}", counted(static_cast<int>(others), "more node"));
  return text;
}

const std::string& node_name(const Placement& placement, int node) {
  return placement.nodes[static_cast<std::size_t>(node)].host.name;
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

std::string_view without_name(const std::string& node, std::string_view reason) {
  if (reason.starts_with(node + ": ")) reason.remove_prefix(node.size() + 2);
  return reason;
}

std::string number_ranges(const std::vector<int>& numbers) {
  return fmt::format("[{}]", rank_ranges(numbers));
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
