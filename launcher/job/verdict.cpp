// The sentences: first what happened, where and why, then what became of the rest.
#include "launcher/job/verdict.h"

#include <fmt/format.h>

#include <csignal>
#include <cstddef>

#include "runner/contract.h"

namespace ds::launcher {

namespace {

std::string count(int number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

const std::string& node_name(const Placement& placement, int node) {
  return placement.nodes[static_cast<std::size_t>(node)].host.name;
}

std::string cause_text(const Placement& placement, const Cause& cause) {
  switch (cause.kind) {
    case Cause::Kind::none:
    case Cause::Kind::unreachable:
      return {};
    case Cause::Kind::rank:
      return fmt::format("{}: {}", rank_name(placement, cause.rank),
                         cause.end.cause.empty() ? cause.end.status.describe() : cause.end.cause);
    case Cause::Kind::node:
      return fmt::format("node {} is lost: {}", node_name(placement, cause.node), cause.reason);
    case Cause::Kind::signal:
      return cause.signo == SIGINT ? "interrupted"
                                   : fmt::format("got {}", signal_name(cause.signo));
    case Cause::Kind::output:
      return "standard output was closed";
  }
  return {};
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
  }
  return contract::kExitBug;
}

std::string verdict(const Placement& placement, const Cause& cause, const Aftermath& aftermath) {
  std::string text = cause_text(placement, cause);
  if (text.empty()) return text;
  if (cause.kind == Cause::Kind::rank && placement.world_size() > 1) text += " (first failure)";
  if (aftermath.stopped > 0) {
    const bool after = cause.kind == Cause::Kind::rank || cause.kind == Cause::Kind::node;
    text +=
        fmt::format("; {} stopped{}", count(aftermath.stopped, "rank"), after ? " after it" : "");
    if (aftermath.killed > 0)
      text += aftermath.killed == aftermath.stopped ? ", by KILL"
                                                    : fmt::format(", {} by KILL", aftermath.killed);
  }
  for (const int node : aftermath.lost_nodes)
    text +=
        fmt::format("\nnode {} did not answer in the end; see whether something still runs there",
                    node_name(placement, node));
  return printable(text);
}

std::string waiting_text(const Placement& placement, const Cause& cause, int ranks_left,
                         std::chrono::milliseconds left) {
  return printable(fmt::format(
      "{}; waiting up to {} s for {} to stop", cause_text(placement, cause),
      std::chrono::ceil<std::chrono::seconds>(left).count(), count(ranks_left, "rank")));
}

std::string unreachable_text(const Placement& placement, const std::vector<BadNode>& bad) {
  if (bad.size() == 1) return printable(bad.front().reason);
  std::string text = fmt::format("{} of {} cannot be used:", bad.size(),
                                 count(static_cast<int>(placement.nodes.size()), "node"));
  for (const BadNode& node : bad) text += "\n  " + printable(node.reason);
  return text;
}

std::string rank_name(const Placement& placement, int rank) {
  const int node = placement.ranks[static_cast<std::size_t>(rank)].node_rank;
  return fmt::format("rank {} on {}", rank, node_name(placement, node));
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
