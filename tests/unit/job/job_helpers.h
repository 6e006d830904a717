// Jobs made of nothing, and their actions as text: kinds and arguments, no sentences.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "launcher/job/job_state.h"
#include "launcher/job/verdict_text.h"
#include "support/place_ranks.h"

namespace ds::launcher {

using namespace std::chrono_literals;

inline const Clock::time_point kT0{1h};

/// `nodes` hosts n0, n1... with `ranks` each.
inline Placement placement_of(int nodes, int ranks) {
  std::vector<Host> hosts;
  for (int i = 0; i < nodes; ++i)
    hosts.push_back(
        {.name = fmt::format("n{}", i), .user = {}, .port = 0, .slots = ranks, .place = {}});
  return place_ranks(hosts, std::nullopt, 0);
}

/// "rank 3", "node 1", "bad 0,2", "deadline of 0,1".
inline std::string text_of(const Cause& cause) {
  std::vector<int> bad;
  for (const BadNode& node : cause.bad) bad.push_back(node.node);
  switch (cause.kind) {
    case Cause::Kind::none:
      return "well";
    case Cause::Kind::rank:
      return fmt::format("rank {}", cause.rank);
    case Cause::Kind::node:
      return fmt::format("node {}", cause.node);
    case Cause::Kind::unreachable:
      return fmt::format("bad {}", fmt::join(bad, ","));
    case Cause::Kind::signal:
      return fmt::format("signal {}", cause.signo);
    case Cause::Kind::output:
      return "output";
    case Cause::Kind::deadline:
      return fmt::format("deadline of {}", fmt::join(cause.running, ","));
    case Cause::Kind::skew:
      return fmt::format("skew of {}", fmt::join(cause.running, ","));
    case Cause::Kind::input:
      return "input " + cause.reason;
    case Cause::Kind::mpi:
      return fmt::format("mpi of rank {}", cause.rank);
    case Cause::Kind::fence:
      return fmt::format("fence without {}", fmt::join(cause.running, ","));
  }
  return {};
}

/// "finish 200, rank 3, 3 after it".
inline std::string text_of(const JobVerdict& verdict) {
  std::string text = fmt::format("finish {}, {}", exit_code(verdict.cause), text_of(verdict.cause));
  const auto after = std::ranges::count_if(verdict.ranks, &RankRecord::after_cause);
  if (after > 0) text += fmt::format(", {} after it", after);
  for (const NodeLoss& loss : verdict.losses)
    text += loss.sweep == NodeLoss::Sweep::done
                ? fmt::format(", swept {} of {}", loss.host, loss.killed)
                : fmt::format(", unswept {}", loss.host);
  for (const int node : verdict.unanswered) text += fmt::format(", unanswered {}", node);
  return text;
}

struct ActionText {
  std::string operator()(const OpenAgent& a) const { return fmt::format("open {}", a.agent); }
  std::string operator()(const SendSpec& a) const {
    return a.agent == a.node ? fmt::format("spec {}", a.node)
                             : fmt::format("spec {} to {}", a.node, a.agent);
  }
  std::string operator()(const SignalRanks& a) const {
    return fmt::format("signal {}", ds::signal_name(a.signo));
  }
  std::string operator()(const SendSweep& a) const { return fmt::format("sweep {}", a.agent); }
  std::string operator()(const SendGo& a) const { return fmt::format("go {}", a.master_port); }
  std::string operator()(const FindMaster& a) const {
    return fmt::format("{} {}", a.known ? "shut the door of" : "find master", a.master_port);
  }
  std::string operator()(const CheckHost& a) const { return fmt::format("check {}", a.agent); }
  std::string operator()(const StopAgent& a) const {
    return fmt::format("stop {} {}", a.agent, a.grace.count());
  }
  std::string operator()(const KillAgent& a) const { return fmt::format("kill {}", a.agent); }
  std::string operator()(const SuspendAgents&) const { return "suspend"; }
  std::string operator()(const SuspendSelf&) const { return "suspend self"; }
  std::string operator()(const ResumeAgents&) const { return "resume"; }
  std::string operator()(const SendHeartbeats&) const { return "beat"; }
  std::string operator()(const DismissAgent& a) const { return fmt::format("dismiss {}", a.agent); }
  std::string operator()(const CloseAgent& a) const { return fmt::format("close {}", a.agent); }
  std::string operator()(const Say&) const { return "say"; }
  std::string operator()(const PauseRanks&) const { return "PauseRanks"; }
  std::string operator()(const LetGo& a) const { return fmt::format("let go of n{}", a.host); }
  std::string operator()(const FlushOutput&) const { return "flush"; }
  std::string operator()(const Conclude& a) const { return text_of(a.verdict); }
};

/// "stop 0 10000, say, finish 7, rank 0".
inline std::string text_of(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    if (!text.empty()) text += ", ";
    text += std::visit(ActionText{}, action);
  }
  return text;
}

/// What is said on standard error by some actions; lines of the verdict are not among it.
inline std::string said_by(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions)
    if (const auto* say = std::get_if<Say>(&action)) text += say->text + "\n";
  return text;
}

/// A job whose ranks run since kT0.
inline JobState started_job(int nodes, int ranks_per_node, JobPolicy policy = {}) {
  JobState job(placement_of(nodes, ranks_per_node), policy);
  job.on(Start{}, kT0);
  for (int i = 0; i < nodes; ++i) {
    job.on(AgentGreeted{i}, kT0);
    job.on(AgentReady{i, 4000}, kT0);
  }
  return job;
}

/// All is well until a time: the agents are heard, and each Tick comes when it is due. Returns what
/// all that brought, but for beats.
inline std::string let_pass(JobState& job, std::initializer_list<int> agents,
                            Clock::time_point until) {
  std::string text;
  const auto add = [&text](const std::vector<Action>& actions) {
    for (const Action& action : actions)
      if (!std::holds_alternative<SendHeartbeats>(action))
        text += (text.empty() ? "" : ", ") + std::visit(ActionText{}, action);
  };
  for (auto at = job.wake_at(); at <= until; at = job.wake_at()) {
    for (const int agent : agents) add(job.on(AgentHeard{agent}, at));
    add(job.on(Tick{}, at));
  }
  return text;
}

/// Agents that were told to end say Bye; returns what the last one brings.
inline std::string goodbye(JobState& job, std::initializer_list<int> agents,
                           Clock::time_point at = kT0) {
  std::string text;
  for (const int agent : agents) text = text_of(job.on(AgentDone{agent}, at));
  return text;
}

inline RankExited exited(int rank, int code) { return {rank, {ExitStatus::exited(code), {}, {}}}; }
inline RankExited signaled(int rank, int signo) {
  return {rank, {ExitStatus::signaled(signo, false), {}, {}}};
}

}  // namespace ds::launcher
