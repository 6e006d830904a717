// Jobs with --nodes MIN:MAX, for tests of who takes part.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "unit/job/job_helpers.h"

namespace ds::launcher {

inline JobPolicy elastic(int least, int most, JobPolicy policy = {.max_restarts = 3}) {
  policy.elastic = ElasticPolicy{.nodes = {least, most}, .max_wait = 60s};
  return policy;
}

/// A job on hosts n0, n1... that runs since kT0, on the first `most` of them.
inline JobState started(int hosts, int ranks, const JobPolicy& policy) {
  JobState job(placement_of(hosts, ranks), policy);
  job.on(Start{}, kT0);
  for (int agent = 0; agent < hosts; ++agent) job.on(AgentGreeted{agent}, kT0);
  for (int agent = 0; agent < std::min(hosts, policy.elastic->nodes.most); ++agent)
    job.on(AgentReady{agent, 4000}, kT0);
  REQUIRE(job.phase_name() == "running");
  return job;
}

inline std::string hosts_of(const JobState& job) {
  std::string text;
  for (const Node& node : job.placement().nodes)
    text += (text.empty() ? "" : " ") + node.host.name;
  return text;
}

/// All ranks of these agents are gone; returns what the last agent brings.
inline std::string clear(JobState& job, std::initializer_list<int> agents, ds::Clock::time_point at = kT0) {
  std::string text;
  for (const int agent : agents) text = text_of(job.on(AgentCleared{agent}, at));
  return text;
}

/// These agents are ready; returns what the last one brings.
inline std::string ready(JobState& job, std::initializer_list<int> agents, ds::Clock::time_point at = kT0) {
  std::string text;
  for (const int agent : agents) text = text_of(job.on(AgentReady{agent, 5000}, at));
  return text;
}

}  // namespace ds::launcher
