#include "launcher/manifest/pod.h"

#include <fmt/format.h>

#include <algorithm>

namespace ds::launcher {
namespace {

using List = Yaml::List;
using Argv = std::vector<std::string>;

constexpr const char* kConfigFolder = "/opt/dslaunch/job";
// What is written where no claim is mounted: temporary files, and runs/ in the working directory.
using Scratch = std::pair<const char*, const char*>;
constexpr Scratch kScratch[] = {{"tmp", "/tmp"}, {"runs", "/home/mpiuser/runs"}};
constexpr int kUser = 1000;    // user mpiuser of the image
constexpr int kEndMargin = 5;  // seconds that a pod needs after --grace (docs/kubernetes.md)

std::string claim_volume(std::size_t index) { return fmt::format("claim-{}", index); }

/// Returns the places of kScratch that a pod with a read-only image needs.
std::vector<Scratch> scratch(const ManifestRequest& request) {
  std::vector<Scratch> needed;
  for (const Scratch& place : kScratch)
    if (request.read_only && std::ranges::count(request.claims, place.second, &PodClaim::path) == 0)
      needed.push_back(place);
  return needed;
}

void append(Argv& words, const Argv& more) { words.insert(words.end(), more.begin(), more.end()); }

Yaml field_variable(const char* name, const std::string& path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

/// Returns a number as one, so that it needs no quotes.
Yaml quantity(const std::string& text) {
  const bool whole = text.find_first_not_of("0123456789") == std::string::npos && text.size() < 9;
  return whole ? Yaml(std::stoi(text)) : Yaml(text);
}

Yaml label_variable(const char* name, const char* label) {
  return field_variable(name, fmt::format("metadata.labels['{}']", label));
}

/// Appends --max-restarts, --grace, the options of --with, and the job.
void append_job(const ManifestRequest& request, Argv& words) {
  const int restarts = request.max_restarts.value_or(3);
  if (restarts > 0) append(words, {"--max-restarts", std::to_string(restarts)});
  append(words, {"--grace", std::to_string(grace_seconds(request))});
  append(words, request.options);
  append(words, job_words(request));
}

Argv agent_command(const ManifestRequest& request, const std::string& peers, bool long_running) {
  Argv words = {"dslaunch", "agent", "--join"};
  if (!peers.empty()) append(words, {"--peers", peers});
  if (request.least_nodes > 0)
    append(words, {"--nodes", fmt::format("{}:{}", request.least_nodes, request.nodes)});
  append(words, {"--slots", std::to_string(request.slots)});
  if (long_running) append(words, {"--on-success", "idle"});
  append_job(request, words);
  return words;
}

Yaml agent_container(const ManifestRequest& request, const Argv& command) {
  List env = {field_variable("POD_IP", "status.podIP"),
              field_variable("POD_UID", "metadata.uid"),
              field_variable("POD_NAMESPACE", "metadata.namespace"),
              {{"name", "DSLAUNCH_POD_LEAVE"}, {"value", std::to_string(request.leave_seconds)}}};
  // These distinguish a job, and an attempt of it, from others of the same name.
  if (request.kind == ManifestKind::indexed)
    env.push_back(label_variable("JOB_UID", "batch.kubernetes.io/controller-uid"));
  if (request.kind == ManifestKind::jobset) {
    env.push_back(label_variable("JOBSET_UID", "jobset.sigs.k8s.io/jobset-uid"));
    env.push_back(label_variable("JOBSET_RESTART", "jobset.sigs.k8s.io/restart-attempt"));
  }
  env.push_back(secret_variable(request, "DSLAUNCH_TOKEN"));
  Yaml::Map container = {
      {"name", "node"}, {"image", request.image}, {"command", container_words(command)}};
  add_variables(request, std::move(env), container);
  container.emplace_back("ports", List{Yaml{{"name", "join"}, {"containerPort", kRootPort}}});
  add_resources(request, "resources", container);
  container.emplace_back("volumeMounts", volume_mounts(request));
  container.emplace_back("terminationMessagePolicy", "FallbackToLogsOnError");
  add_container_security(request, container);
  return container;
}

}  // namespace

std::string container_word(std::string_view word) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    out += word[i];
    const char next = i + 1 < word.size() ? word[i + 1] : ' ';
    if (word[i] == '$' && (next == '$' || next == '(')) out += '$';
  }
  return out;
}

void add_pod_security(const ManifestRequest& request, Yaml::Map& pod) {
  if (request.as_root) return;
  pod.emplace_back("securityContext", Yaml{{"runAsNonRoot", true},
                                           {"runAsUser", kUser},
                                           {"runAsGroup", kUser},
                                           {"fsGroup", kUser},
                                           {"seccompProfile", {{"type", "RuntimeDefault"}}}});
}

void add_container_security(const ManifestRequest& request, Yaml::Map& container) {
  Yaml::Map context;
  if (!request.as_root) {
    context.emplace_back("allowPrivilegeEscalation", false);
    context.emplace_back("capabilities", Yaml{{"drop", List{"ALL"}}});
  }
  if (request.read_only) context.emplace_back("readOnlyRootFilesystem", true);
  if (!context.empty()) container.emplace_back("securityContext", std::move(context));
}

Yaml::Map restart_policies() {
  const Yaml codes = {{"operator", "In"}, {"values", List{64, 65, 93}}};
  const Yaml ended = {{"operator", "In"}, {"values", List{143}}};
  const Yaml taken = {{"type", "DisruptionTarget"}, {"status", "True"}};
  const Yaml rules = List{Yaml{{"action", "FailJob"}, {"onExitCodes", codes}},
                          Yaml{{"action", "Ignore"}, {"onExitCodes", ended}},
                          Yaml{{"action", "Ignore"}, {"onPodConditions", List{taken}}}};
  // Each index has its own back-off: one for the whole Job counts every pod of an epoch that ended,
  // and waits 10 min after one epoch of 8 pods.
  return {{"completionMode", "Indexed"},
          {"backoffLimitPerIndex", 20},
          {"maxFailedIndexes", 0},
          {"podReplacementPolicy", "Failed"},
          {"podFailurePolicy", {{"rules", rules}}}};
}

Yaml set_failure_policy() {
  const Yaml fatal = {{"name", "fatal"},
                      {"action", "FailJobSet"},
                      {"onJobFailureReasons", List{"PodFailurePolicy"}}};
  return {{"maxRestarts", 10}, {"restartStrategy", "Recreate"}, {"rules", List{fatal}}};
}

int grace_seconds(const ManifestRequest& request) {
  return std::max(request.leave_seconds - kEndMargin, (request.leave_seconds + 1) / 2);
}

Argv job_words(const ManifestRequest& request) {
  Argv words = {request.command.empty() ? request.config : "--"};
  append(words, request.command.empty() ? request.overrides : request.command);
  return words;
}

Argv launcher_command(const ManifestRequest& request) {
  Argv words = {"dslaunch"};
  // ssh does not carry variables.
  for (const auto& variable : request.env) append(words, {"-x", variable.first});
  append_job(request, words);
  return words;
}

Yaml container_words(const Argv& words) {
  List list;
  for (const std::string& word : words) list.emplace_back(container_word(word));
  return list;
}

Yaml secret_variable(const ManifestRequest& request, const char* name) {
  const Yaml key = {{"name", token_secret(request)}, {"key", "token"}};
  return {{"name", name}, {"valueFrom", {{"secretKeyRef", key}}}};
}

void add_variables(const ManifestRequest& request, List env, Yaml::Map& container) {
  for (const auto& [name, value] : request.env)
    env.push_back({{"name", name}, {"value", container_word(value)}});
  if (!env.empty()) container.emplace_back("env", std::move(env));
}

void add_resources(const ManifestRequest& request, const char* key, Yaml::Map& container) {
  Yaml::Map amounts;
  if (!request.cpu.empty()) amounts.emplace_back("cpu", quantity(request.cpu));
  if (!request.memory.empty()) amounts.emplace_back("memory", quantity(request.memory));
  if (!request.gpu.empty()) amounts.emplace_back(request.gpu, request.slots);
  if (!amounts.empty()) container.emplace_back(key, Yaml{{"limits", amounts}});
}

List volumes(const ManifestRequest& request) {
  List list = {Yaml{{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}}};
  if (request.config_text)
    list.push_back({{"name", "job"}, {"configMap", {{"name", request.name + "-config"}}}});
  for (std::size_t i = 0; i < request.claims.size(); ++i)
    list.push_back({{"name", claim_volume(i)},
                    {"persistentVolumeClaim", {{"claimName", request.claims[i].name}}}});
  for (const auto& [name, path] : scratch(request))
    list.push_back({{"name", name}, {"emptyDir", Yaml::Map{}}});
  return list;
}

List volume_mounts(const ManifestRequest& request) {
  List list = {Yaml{{"name", "shm"}, {"mountPath", "/dev/shm"}}};
  if (request.config_text)
    list.push_back({{"name", "job"}, {"mountPath", kConfigFolder}, {"readOnly", true}});
  for (std::size_t i = 0; i < request.claims.size(); ++i)
    list.push_back({{"name", claim_volume(i)}, {"mountPath", request.claims[i].path}});
  for (const auto& [name, path] : scratch(request))
    list.push_back({{"name", name}, {"mountPath", path}});
  return list;
}

Yaml::Map agent_pod(const ManifestRequest& request, const std::string& peers, bool long_running,
                    Yaml::Map pod) {
  pod.emplace_back("automountServiceAccountToken", false);
  pod.emplace_back("enableServiceLinks", false);
  pod.emplace_back("terminationGracePeriodSeconds", request.leave_seconds);
  add_pod_security(request, pod);
  pod.emplace_back("containers",
                   List{agent_container(request, agent_command(request, peers, long_running))});
  pod.emplace_back("volumes", volumes(request));
  return pod;
}

}  // namespace ds::launcher
