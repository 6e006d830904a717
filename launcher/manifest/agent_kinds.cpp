// Manifests of kinds whose pods all run `dslaunch agent --join`, without ssh or Kubernetes API.
#include <fmt/format.h>

#include "launcher/manifest/pod.h"

namespace ds::launcher {
namespace {

using List = Yaml::List;

/// Returns a --peers pattern: 'gpt-{0..3}.gpt'.
std::string pod_names(const std::string& prefix, const ManifestRequest& request) {
  if (request.nodes == 1) return fmt::format("{}-0.{}", prefix, request.name);
  return fmt::format("{}-{{0..{}}}.{}", prefix, request.nodes - 1, request.name);
}

/// Returns the spec of an Indexed Job.
Yaml indexed_spec(const ManifestRequest& request, Yaml::Map pod) {
  Yaml::Map spec = restart_policies();
  spec.emplace_back("completions", request.nodes);
  spec.emplace_back("parallelism", request.nodes);
  // A pod that has no room, or comes back late, finds no root when the training is over.
  if (request.least_nodes > 0)
    spec.emplace_back("successPolicy", Yaml{{"rules", List{Yaml{{"succeededIndexes", "0"}}}}});
  spec.emplace_back("template", pod_template(request, std::move(pod)));
  return spec;
}

}  // namespace

std::vector<Yaml> indexed_job(const ManifestRequest& request) {
  return {headless_service(request),
          object(request, "batch/v1", "Job",
                 indexed_spec(request, agent_pod(request, pod_names(request.name, request), false,
                                                 {{"subdomain", request.name}, kNeverRestart})))};
}

std::vector<Yaml> jobset(const ManifestRequest& request) {
  const Yaml job = indexed_spec(
      request,
      agent_pod(request, pod_names(request.name + "-node-0", request), false, {kNeverRestart}));
  const Yaml group = {{"name", "node"}, {"replicas", 1}, {"template", {{"spec", job}}}};
  return {object(request, "jobset.x-k8s.io/v1alpha2", "JobSet",
                 {{"network", {{"enableDNSHostnames", true}, {"publishNotReadyAddresses", true}}},
                  {"failurePolicy", set_failure_policy()},
                  {"replicatedJobs", List{group}}})};
}

std::vector<Yaml> statefulset(const ManifestRequest& request) {
  return {
      headless_service(request),
      object(
          request, "apps/v1", "StatefulSet",
          {{"serviceName", request.name},
           {"replicas", request.nodes},
           {"podManagementPolicy", "Parallel"},
           {"selector", {{"matchLabels", {{kJobLabel, request.name}}}}},
           {"template",
            pod_template(request, agent_pod(request, pod_names(request.name, request), true))}})};
}

std::vector<Yaml> lws(const ManifestRequest& request) {
  const Yaml group = {{"size", request.nodes},
                      {"restartPolicy", "None"},
                      {"workerTemplate", pod_template(request, agent_pod(request, "", true))}};
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
  const Yaml task = {
      {"name", "node"},
      {"replicas", request.nodes},
      {"policies", policies},
      {"template", pod_template(request, agent_pod(request, "", false, {kNeverRestart}))}};
  return {
      object(request, "batch.volcano.sh/v1alpha1", "Job",
             {{"schedulerName", "volcano"},
              {"minAvailable", request.nodes},
              {"maxRetry", 10},
              {"plugins", {{"env", List()}, {"svc", List{"--publish-not-ready-addresses=true"}}}},
              {"tasks", List{task}}})};
}

}  // namespace ds::launcher
