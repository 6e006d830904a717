// Jobs made of nothing, and their actions as text.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "launcher/job/job_state.h"
#include "launcher/job/verdict_text.h"

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
  std::string operator()(const StopRanks& a) const {
    return fmt::format("stop {}", a.grace.count());
  }
  std::string operator()(const KillRanks&) const { return "kill"; }
  std::string operator()(const SuspendRanks&) const { return "suspend"; }
  std::string operator()(const SuspendSelf&) const { return "suspend self"; }
  std::string operator()(const ResumeRanks&) const { return "resume"; }
  std::string operator()(const SendHeartbeats&) const { return "beat"; }
  std::string operator()(const DismissAgent& a) const { return fmt::format("dismiss {}", a.agent); }
  std::string operator()(const CloseAgent& a) const { return fmt::format("close {}", a.agent); }
  std::string operator()(const Say& a) const { return fmt::format("say {}", a.text); }
  std::string operator()(const FlushOutput&) const { return "flush"; }
  std::string operator()(const Conclude& a) const {
    std::string text;
    for (const std::string& paragraph : verdict_paragraphs(a.verdict, {}))
      text += fmt::format("say {}, ", paragraph);
    return text + fmt::format("finish {}", exit_code(a.verdict.cause));
  }
};

/// "stop 10000, say ..., finish 7".
inline std::string text_of(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    if (!text.empty()) text += ", ";
    text += std::visit(ActionText{}, action);
  }
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
