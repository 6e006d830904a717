// Manifests of kinds whose pods all run `dslaunch agent --join`, without ssh or Kubernetes API.
#include <fmt/format.h>

#include "launcher/manifest/pod.h"

namespace ds::launcher {
namespace {

using List = Yaml::List;

constexpr int kManyTimes = 2147483647;
constexpr std::pair<const char*, const char*> kNeverRestart = {"restartPolicy", "Never"};

/// Returns a --peers pattern: 'gpt-{0..3}.gpt'.
std::string pod_names(const std::string& prefix, const ManifestRequest& request) {
  if (request.nodes == 1) return fmt::format("{}-0.{}", prefix, request.name);
  return fmt::format("{}-{{0..{}}}.{}", prefix, request.nodes - 1, request.name);
}

/// Returns a policy that fails the job on exit codes that no restart can cure, and does not count
/// pods that Kubernetes removed.
Yaml pod_failure_policy() {
  const Yaml codes = {{"operator", "In"}, {"values", List{64, 65, 93}}};
  const Yaml taken = {{"type", "DisruptionTarget"}, {"status", "True"}};
  return {{"rules", List{Yaml{{"action", "FailJob"}, {"onExitCodes", codes}},
                         Yaml{{"action", "Ignore"}, {"onPodConditions", List{taken}}}}}};
}

}  // namespace

std::vector<Yaml> indexed_job(const ManifestRequest& request) {
  const Yaml pod = agent_pod(request, pod_names(request.name, request), false,
                             {{"subdomain", request.name}, kNeverRestart});
  return {headless_service(request, "batch.kubernetes.io/job-name", request.name),
          object(request, "batch/v1", "Job",
                 {{"completionMode", "Indexed"},
                  {"completions", request.nodes},
                  {"parallelism", request.nodes},
                  {"backoffLimitPerIndex", 20},
                  {"maxFailedIndexes", 0},
                  {"podReplacementPolicy", "Failed"},
                  {"podFailurePolicy", pod_failure_policy()},
                  {"template", {{"spec", pod}}}})};
}

std::vector<Yaml> jobset(const ManifestRequest& request) {
  const Yaml pod =
      agent_pod(request, pod_names(request.name + "-node-0", request), false, {kNeverRestart});
  const Yaml job = {{"completionMode", "Indexed"},      {"completions", request.nodes},
                    {"parallelism", request.nodes},     {"backoffLimit", kManyTimes},
                    {"podReplacementPolicy", "Failed"}, {"podFailurePolicy", pod_failure_policy()},
                    {"template", {{"spec", pod}}}};
  const Yaml fatal = {{"name", "fatal"},
                      {"action", "FailJobSet"},
                      {"onJobFailureReasons", List{"PodFailurePolicy"}}};
  const Yaml group = {{"name", "node"}, {"replicas", 1}, {"template", {{"spec", job}}}};
  return {object(request, "jobset.x-k8s.io/v1alpha2", "JobSet",
                 {{"network", {{"enableDNSHostnames", true}, {"publishNotReadyAddresses", true}}},
                  {"failurePolicy",
                   {{"maxRestarts", 10}, {"restartStrategy", "Recreate"}, {"rules", List{fatal}}}},
                  {"replicatedJobs", List{group}}})};
}

std::vector<Yaml> statefulset(const ManifestRequest& request) {
  const Yaml labels = {{"app", request.name}};
  const Yaml pod = {{"metadata", {{"labels", labels}}},
                    {"spec", agent_pod(request, pod_names(request.name, request), true)}};
  return {headless_service(request, "app", request.name),
          object(request, "apps/v1", "StatefulSet",
                 {{"serviceName", request.name},
                  {"replicas", request.nodes},
                  {"podManagementPolicy", "Parallel"},
                  {"selector", {{"matchLabels", labels}}},
                  {"template", pod}})};
}

std::vector<Yaml> lws(const ManifestRequest& request) {
  const Yaml group = {{"size", request.nodes},
                      {"restartPolicy", "None"},
                      {"workerTemplate", {{"spec", agent_pod(request, "", true)}}}};
  return {object(request, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
                 {{"replicas", 1},
                  {"startupPolicy", "LeaderCreated"},
                  {"networkConfig", {{"subdomainPolicy", "Shared"}}},
                  {"leaderWorkerTemplate", group}})};
}

std::vector<Yaml> volcano_job(const ManifestRequest& request) {
  const auto policy = [](const char* what, Yaml value, const char* action) {
    return Yaml{{what, std::move(value)}, {"action", action}};
  };
  const Yaml policies = List{policy("exitCode", 64, "AbortJob"), policy("exitCode", 65, "AbortJob"),
                             policy("exitCode", 93, "AbortJob"),
                             policy("events", List{"PodEvicted", "PodFailed"}, "RestartJob"),
                             policy("event", "TaskCompleted", "CompleteJob")};
  // Never: the pod then fails with the agent's exit code, which the policies test.
  const Yaml task = {{"name", "node"},
                     {"replicas", request.nodes},
                     {"policies", policies},
                     {"template", {{"spec", agent_pod(request, "", false, {kNeverRestart})}}}};
  return {
      object(request, "batch.volcano.sh/v1alpha1", "Job",
             {{"schedulerName", "volcano"},
              {"minAvailable", request.nodes},
              {"maxRetry", 10},
              {"plugins", {{"env", List()}, {"svc", List{"--publish-not-ready-addresses=true"}}}},
              {"tasks", List{task}}})};
}

}  // namespace ds::launcher
