// Manifests of kinds whose pods all run `dslaunch agent --join`, without ssh or Kubernetes API.
#include <fmt/format.h>

#include "launcher/manifest/pod.h"

namespace ds::launcher {
namespace {

constexpr int kManyTimes = 2147483647;

/// Returns a --peers pattern: 'gpt-{0..3}.gpt'.
std::string pod_names(const std::string& prefix, const ManifestRequest& request) {
  if (request.nodes == 1) return fmt::format("{}-0.{}", prefix, request.name);
  return fmt::format("{}-{{0..{}}}.{}", prefix, request.nodes - 1, request.name);
}

/// Returns a policy that fails the job on exit codes that no restart can cure, and does not count
/// pods that Kubernetes removed.
Yaml pod_failure_policy() {
  const Yaml codes = yaml_map({{"operator", "In"}, {"values", yaml_list({64, 65, 93})}});
  const Yaml taken = yaml_map({{"type", "DisruptionTarget"}, {"status", "True"}});
  return yaml_map(
      {{"rules",
        yaml_list({yaml_map({{"action", "FailJob"}, {"onExitCodes", codes}}),
                   yaml_map({{"action", "Ignore"}, {"onPodConditions", yaml_list({taken})}})})}});
}

std::vector<Yaml> indexed(const ManifestRequest& request) {
  Yaml::Map pod = {{"subdomain", request.name}, {"restartPolicy", "Never"}};
  const Yaml::Map rest = agent_pod(request, pod_names(request.name, request), false);
  pod.insert(pod.end(), rest.begin(), rest.end());
  const Yaml spec = yaml_map({{"completionMode", "Indexed"},
                              {"completions", request.nodes},
                              {"parallelism", request.nodes},
                              {"backoffLimitPerIndex", 20},
                              {"maxFailedIndexes", 0},
                              {"podReplacementPolicy", "Failed"},
                              {"podFailurePolicy", pod_failure_policy()},
                              {"template", yaml_map({{"spec", pod}})}});
  return {headless_service(request, "batch.kubernetes.io/job-name", request.name),
          yaml_map({{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata", metadata(request, request.name)},
                    {"spec", spec}})};
}

std::vector<Yaml> jobset(const ManifestRequest& request) {
  Yaml::Map pod = {{"restartPolicy", "Never"}};
  const Yaml::Map rest = agent_pod(request, pod_names(request.name + "-node-0", request), false);
  pod.insert(pod.end(), rest.begin(), rest.end());
  const Yaml job = yaml_map({{"completionMode", "Indexed"},
                             {"completions", request.nodes},
                             {"parallelism", request.nodes},
                             {"backoffLimit", kManyTimes},
                             {"podReplacementPolicy", "Failed"},
                             {"podFailurePolicy", pod_failure_policy()},
                             {"template", yaml_map({{"spec", pod}})}});
  const Yaml fatal = yaml_map({{"name", "fatal"},
                               {"action", "FailJobSet"},
                               {"onJobFailureReasons", yaml_list({"PodFailurePolicy"})}});
  const Yaml group =
      yaml_map({{"name", "node"}, {"replicas", 1}, {"template", yaml_map({{"spec", job}})}});
  return {yaml_map({{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                    {"kind", "JobSet"},
                    {"metadata", metadata(request, request.name)},
                    {"spec", yaml_map({{"network", yaml_map({{"enableDNSHostnames", true},
                                                             {"publishNotReadyAddresses", true}})},
                                       {"failurePolicy", yaml_map({{"maxRestarts", 10},
                                                                   {"restartStrategy", "Recreate"},
                                                                   {"rules", yaml_list({fatal})}})},
                                       {"replicatedJobs", yaml_list({group})}})}})};
}

std::vector<Yaml> statefulset(const ManifestRequest& request) {
  const Yaml labels = yaml_map({{"app", request.name}});
  const Yaml pod = yaml_map({{"metadata", yaml_map({{"labels", labels}})},
                             {"spec", agent_pod(request, pod_names(request.name, request), true)}});
  return {headless_service(request, "app", request.name),
          yaml_map({{"apiVersion", "apps/v1"},
                    {"kind", "StatefulSet"},
                    {"metadata", metadata(request, request.name)},
                    {"spec", yaml_map({{"serviceName", request.name},
                                       {"replicas", request.nodes},
                                       {"podManagementPolicy", "Parallel"},
                                       {"selector", yaml_map({{"matchLabels", labels}})},
                                       {"template", pod}})}})};
}

std::vector<Yaml> lws(const ManifestRequest& request) {
  const Yaml group =
      yaml_map({{"size", request.nodes},
                {"restartPolicy", "None"},
                {"workerTemplate", yaml_map({{"spec", agent_pod(request, "", true)}})}});
  return {yaml_map({{"apiVersion", "leaderworkerset.x-k8s.io/v1"},
                    {"kind", "LeaderWorkerSet"},
                    {"metadata", metadata(request, request.name)},
                    {"spec", yaml_map({{"replicas", 1},
                                       {"startupPolicy", "LeaderCreated"},
                                       {"networkConfig", yaml_map({{"subdomainPolicy", "Shared"}})},
                                       {"leaderWorkerTemplate", group}})}})};
}

std::vector<Yaml> volcano(const ManifestRequest& request) {
  // Never: the pod then fails with the agent's exit code, which the policies test.
  Yaml::Map pod = {{"restartPolicy", "Never"}};
  const Yaml::Map rest = agent_pod(request, "", false);
  pod.insert(pod.end(), rest.begin(), rest.end());
  const auto policy = [](const char* what, Yaml value, const char* action) {
    return yaml_map({{what, std::move(value)}, {"action", action}});
  };
  const Yaml policies =
      yaml_list({policy("exitCode", 64, "AbortJob"), policy("exitCode", 65, "AbortJob"),
                 policy("exitCode", 93, "AbortJob"),
                 policy("events", yaml_list({"PodEvicted", "PodFailed"}), "RestartJob"),
                 policy("event", "TaskCompleted", "CompleteJob")});
  const Yaml task = yaml_map({{"name", "node"},
                              {"replicas", request.nodes},
                              {"policies", policies},
                              {"template", yaml_map({{"spec", pod}})}});
  return {yaml_map(
      {{"apiVersion", "batch.volcano.sh/v1alpha1"},
       {"kind", "Job"},
       {"metadata", metadata(request, request.name)},
       {"spec", yaml_map({{"schedulerName", "volcano"},
                          {"minAvailable", request.nodes},
                          {"maxRetry", 10},
                          {"plugins",
                           yaml_map({{"env", Yaml::List()},
                                     {"svc", yaml_list({"--publish-not-ready-addresses=true"})}})},
                          {"tasks", yaml_list({task})}})}})};
}

}  // namespace

std::vector<Yaml> agent_kind(const ManifestRequest& request) {
  switch (request.kind) {
    case ManifestKind::indexed:
      return indexed(request);
    case ManifestKind::jobset:
      return jobset(request);
    case ManifestKind::statefulset:
      return statefulset(request);
    case ManifestKind::lws:
      return lws(request);
    case ManifestKind::volcano:
      return volcano(request);
    default:
      return {};
  }
}

}  // namespace ds::launcher
