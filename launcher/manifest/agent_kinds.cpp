// Kinds whose pods all run `dslaunch agent --join`: no ssh, no Kubernetes API.
#include <fmt/format.h>

#include "launcher/manifest/pod.h"

namespace ds::launcher {
namespace {

constexpr int kManyTimes = 2147483647;

/// 'gpt-{0..3}.gpt'
std::string pod_names(const std::string& prefix, const ManifestWish& wish) {
  if (wish.nodes == 1) return fmt::format("{}-0.{}", prefix, wish.name);
  return fmt::format("{}-{{0..{}}}.{}", prefix, wish.nodes - 1, wish.name);
}

/// What dslaunch says no restart can cure ends the job; a pod that Kubernetes took away does not
/// count.
Yaml pod_failure_policy() {
  const Yaml codes = yaml_map({{"operator", "In"}, {"values", yaml_list({64, 65, 93})}});
  const Yaml taken = yaml_map({{"type", "DisruptionTarget"}, {"status", "True"}});
  return yaml_map(
      {{"rules",
        yaml_list({yaml_map({{"action", "FailJob"}, {"onExitCodes", codes}}),
                   yaml_map({{"action", "Ignore"}, {"onPodConditions", yaml_list({taken})}})})}});
}

std::vector<Yaml> indexed(const ManifestWish& wish) {
  Yaml::Map pod = {{"subdomain", wish.name}, {"restartPolicy", "Never"}};
  const Yaml::Map rest = agent_pod(wish, pod_names(wish.name, wish), false);
  pod.insert(pod.end(), rest.begin(), rest.end());
  const Yaml spec = yaml_map({{"completionMode", "Indexed"},
                              {"completions", wish.nodes},
                              {"parallelism", wish.nodes},
                              {"backoffLimitPerIndex", 20},
                              {"maxFailedIndexes", 0},
                              {"podReplacementPolicy", "Failed"},
                              {"podFailurePolicy", pod_failure_policy()},
                              {"template", yaml_map({{"spec", pod}})}});
  return {headless_service(wish, "batch.kubernetes.io/job-name", wish.name),
          yaml_map({{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata", metadata(wish, wish.name)},
                    {"spec", spec}})};
}

std::vector<Yaml> jobset(const ManifestWish& wish) {
  Yaml::Map pod = {{"restartPolicy", "Never"}};
  const Yaml::Map rest = agent_pod(wish, pod_names(wish.name + "-node-0", wish), false);
  pod.insert(pod.end(), rest.begin(), rest.end());
  const Yaml job = yaml_map({{"completionMode", "Indexed"},
                             {"completions", wish.nodes},
                             {"parallelism", wish.nodes},
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
                    {"metadata", metadata(wish, wish.name)},
                    {"spec", yaml_map({{"network", yaml_map({{"enableDNSHostnames", true},
                                                             {"publishNotReadyAddresses", true}})},
                                       {"failurePolicy", yaml_map({{"maxRestarts", 10},
                                                                   {"restartStrategy", "Recreate"},
                                                                   {"rules", yaml_list({fatal})}})},
                                       {"replicatedJobs", yaml_list({group})}})}})};
}

std::vector<Yaml> statefulset(const ManifestWish& wish) {
  const Yaml labels = yaml_map({{"app", wish.name}});
  const Yaml pod = yaml_map({{"metadata", yaml_map({{"labels", labels}})},
                             {"spec", agent_pod(wish, pod_names(wish.name, wish), true)}});
  return {headless_service(wish, "app", wish.name),
          yaml_map({{"apiVersion", "apps/v1"},
                    {"kind", "StatefulSet"},
                    {"metadata", metadata(wish, wish.name)},
                    {"spec", yaml_map({{"serviceName", wish.name},
                                       {"replicas", wish.nodes},
                                       {"podManagementPolicy", "Parallel"},
                                       {"selector", yaml_map({{"matchLabels", labels}})},
                                       {"template", pod}})}})};
}

std::vector<Yaml> lws(const ManifestWish& wish) {
  const Yaml group =
      yaml_map({{"size", wish.nodes},
                {"restartPolicy", "None"},
                {"workerTemplate", yaml_map({{"spec", agent_pod(wish, "", true)}})}});
  return {yaml_map({{"apiVersion", "leaderworkerset.x-k8s.io/v1"},
                    {"kind", "LeaderWorkerSet"},
                    {"metadata", metadata(wish, wish.name)},
                    {"spec", yaml_map({{"replicas", 1},
                                       {"startupPolicy", "LeaderCreated"},
                                       {"networkConfig", yaml_map({{"subdomainPolicy", "Shared"}})},
                                       {"leaderWorkerTemplate", group}})}})};
}

std::vector<Yaml> volcano(const ManifestWish& wish) {
  // Never: the pod fails with the agent's exit code, which the policies then see.
  Yaml::Map pod = {{"restartPolicy", "Never"}};
  const Yaml::Map rest = agent_pod(wish, "", false);
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
                              {"replicas", wish.nodes},
                              {"policies", policies},
                              {"template", yaml_map({{"spec", pod}})}});
  return {yaml_map(
      {{"apiVersion", "batch.volcano.sh/v1alpha1"},
       {"kind", "Job"},
       {"metadata", metadata(wish, wish.name)},
       {"spec", yaml_map({{"schedulerName", "volcano"},
                          {"minAvailable", wish.nodes},
                          {"maxRetry", 10},
                          {"plugins",
                           yaml_map({{"env", Yaml::List()},
                                     {"svc", yaml_list({"--publish-not-ready-addresses=true"})}})},
                          {"tasks", yaml_list({task})}})}})};
}

}  // namespace

std::vector<Yaml> agent_kind(const ManifestWish& wish) {
  switch (wish.kind) {
    case ManifestKind::indexed:
      return indexed(wish);
    case ManifestKind::jobset:
      return jobset(wish);
    case ManifestKind::statefulset:
      return statefulset(wish);
    case ManifestKind::lws:
      return lws(wish);
    case ManifestKind::volcano:
      return volcano(wish);
    default:
      return {};
  }
}

}  // namespace ds::launcher
