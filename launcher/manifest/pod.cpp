// Pods and small objects: containers, volumes, resources, Service, ConfigMap and Secret.
#include "launcher/manifest/pod.h"

#include <fmt/format.h>

namespace ds::launcher {
namespace {

constexpr const char* kConfigFolder = "/opt/dslaunch/job";
constexpr int kUser = 1000;  // user mpiuser of the image

std::string claim_volume(std::size_t index) { return fmt::format("claim-{}", index); }

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

/// Returns variables that distinguish a job, and an attempt of it, from others of the same name.
Yaml::List identity_variables(ManifestKind kind) {
  const auto label = [](const std::string& name, const std::string& key) {
    return field_variable(name, fmt::format("metadata.labels['{}']", key));
  };
  if (kind == ManifestKind::indexed)
    return {label("JOB_UID", "batch.kubernetes.io/controller-uid")};
  if (kind == ManifestKind::jobset)
    return {label("JOBSET_UID", "jobset.sigs.k8s.io/jobset-uid"),
            label("JOBSET_RESTART", "jobset.sigs.k8s.io/restart-attempt")};
  return {};
}

Yaml::Map agent_container(const ManifestRequest& request, const std::string& peers,
                          bool long_running) {
  Yaml::List env = {field_variable("POD_IP", "status.podIP"),
                    field_variable("POD_UID", "metadata.uid"),
                    field_variable("POD_NAMESPACE", "metadata.namespace")};
  for (Yaml& variable : identity_variables(request.kind)) env.push_back(std::move(variable));
  env.push_back(secret_variable(request, "DSLAUNCH_TOKEN"));
  add_requested_variables(request, env);
  Yaml::Map container = {
      {"name", "node"},
      {"image", request.image},
      {"command", container_words(agent_command(request, peers, long_running))},
      {"env", env},
      {"ports", yaml_list({yaml_map({{"name", "join"}, {"containerPort", kManifestJoinPort}})})}};
  if (Yaml::Map wanted = resources(request); !wanted.empty())
    container.emplace_back("resources", std::move(wanted));
  container.emplace_back("volumeMounts", volume_mounts(request));
  container.emplace_back("terminationMessagePolicy", "FallbackToLogsOnError");
  container.emplace_back("securityContext",
                         yaml_map({{"allowPrivilegeEscalation", false},
                                   {"capabilities", yaml_map({{"drop", yaml_list({"ALL"})}})}}));
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

Yaml metadata(const ManifestRequest& request, const std::string& name) {
  Yaml::Map map = {{"name", name}};
  if (!request.space.empty()) map.emplace_back("namespace", request.space);
  return map;
}

std::vector<std::string> job_words(const ManifestRequest& request) {
  std::vector<std::string> words;
  if (request.command.empty()) {
    words.push_back(request.config);
    append(words, request.overrides);
  } else {
    words.emplace_back("--");
    append(words, request.command);
  }
  return words;
}

std::vector<std::string> job_options(const ManifestRequest& request) {
  std::vector<std::string> words;
  const int restarts = request.max_restarts.value_or(3);
  if (restarts > 0) words = {"--max-restarts", std::to_string(restarts)};
  append(words, request.options);
  return words;
}

std::vector<std::string> agent_command(const ManifestRequest& request, const std::string& peers,
                                       bool long_running) {
  std::vector<std::string> words = {"dslaunch", "agent", "--join"};
  if (!peers.empty()) append(words, {"--peers", peers});
  append(words, {"--slots", std::to_string(request.slots)});
  if (long_running) append(words, {"--on-success", "idle"});
  append(words, job_options(request));
  append(words, job_words(request));
  return words;
}

std::vector<std::string> forwarded(const ManifestRequest& request) {
  std::vector<std::string> words;
  for (const auto& variable : request.env) append(words, {"-x", variable.first});
  return words;
}

std::vector<std::string> launcher_command(const ManifestRequest& request) {
  std::vector<std::string> words = {"dslaunch"};
  append(words, forwarded(request));
  append(words, job_options(request));
  append(words, job_words(request));
  return words;
}

Yaml container_words(const std::vector<std::string>& words) {
  Yaml::List list;
  for (const std::string& word : words) list.emplace_back(container_word(word));
  return list;
}

std::string token_secret(const ManifestRequest& request) {
  return request.token_secret.empty() ? request.name + "-token" : request.token_secret;
}

Yaml::Map secret_variable(const ManifestRequest& request, const std::string& name) {
  const Yaml key = yaml_map({{"name", token_secret(request)}, {"key", "token"}});
  return {{"name", name}, {"valueFrom", yaml_map({{"secretKeyRef", key}})}};
}

Yaml::Map field_variable(const std::string& name, const std::string& path) {
  const Yaml field = yaml_map({{"fieldPath", path}});
  return {{"name", name}, {"valueFrom", yaml_map({{"fieldRef", field}})}};
}

void add_requested_variables(const ManifestRequest& request, Yaml::List& env) {
  for (const auto& [name, value] : request.env)
    env.push_back(yaml_map({{"name", name}, {"value", container_word(value)}}));
}

Yaml::Map resources(const ManifestRequest& request) {
  Yaml::Map amounts;
  if (request.cpus > 0) amounts.emplace_back("cpu", request.cpus);
  if (!request.memory.empty()) amounts.emplace_back("memory", request.memory);
  if (!request.gpu.empty()) amounts.emplace_back(request.gpu, request.slots);
  return amounts.empty() ? Yaml::Map() : Yaml::Map{{"limits", amounts}};
}

Yaml::List volumes(const ManifestRequest& request) {
  Yaml::List list = {yaml_map({{"name", "shm"}, {"emptyDir", yaml_map({{"medium", "Memory"}})}})};
  if (request.config_text)
    list.push_back(
        yaml_map({{"name", "job"}, {"configMap", yaml_map({{"name", request.name + "-config"}})}}));
  for (std::size_t i = 0; i < request.claims.size(); ++i)
    list.push_back(
        yaml_map({{"name", claim_volume(i)},
                  {"persistentVolumeClaim", yaml_map({{"claimName", request.claims[i].name}})}}));
  return list;
}

Yaml::List volume_mounts(const ManifestRequest& request) {
  Yaml::List list = {yaml_map({{"name", "shm"}, {"mountPath", "/dev/shm"}})};
  if (request.config_text)
    list.push_back(yaml_map({{"name", "job"}, {"mountPath", kConfigFolder}, {"readOnly", true}}));
  for (std::size_t i = 0; i < request.claims.size(); ++i)
    list.push_back(yaml_map({{"name", claim_volume(i)}, {"mountPath", request.claims[i].path}}));
  return list;
}

Yaml::Map agent_pod(const ManifestRequest& request, const std::string& peers, bool long_running) {
  return {
      {"automountServiceAccountToken", false},
      {"enableServiceLinks", false},
      {"terminationGracePeriodSeconds", request.leave_seconds},
      {"securityContext", yaml_map({{"runAsNonRoot", true},
                                    {"runAsUser", kUser},
                                    {"runAsGroup", kUser},
                                    {"fsGroup", kUser},
                                    {"seccompProfile", yaml_map({{"type", "RuntimeDefault"}})}})},
      {"containers", yaml_list({agent_container(request, peers, long_running)})},
      {"volumes", volumes(request)}};
}

Yaml headless_service(const ManifestRequest& request, const std::string& label,
                      const std::string& value) {
  const Yaml port = yaml_map({{"name", "join"}, {"port", kManifestJoinPort}});
  return yaml_map({{"apiVersion", "v1"},
                   {"kind", "Service"},
                   {"metadata", metadata(request, request.name)},
                   {"spec", yaml_map({{"clusterIP", "None"},
                                      {"publishNotReadyAddresses", true},
                                      {"selector", yaml_map({{label, value}})},
                                      {"ports", yaml_list({port})}})}});
}

std::vector<Yaml> own_objects(const ManifestRequest& request) {
  std::vector<Yaml> objects;
  if (request.new_token)
    objects.push_back(yaml_map({{"apiVersion", "v1"},
                                {"kind", "Secret"},
                                {"metadata", metadata(request, token_secret(request))},
                                {"stringData", yaml_map({{"token", *request.new_token}})}}));
  if (request.config_text)
    objects.push_back(yaml_map({{"apiVersion", "v1"},
                                {"kind", "ConfigMap"},
                                {"metadata", metadata(request, request.name + "-config")},
                                {"data", yaml_map({{"train.toml", *request.config_text}})}}));
  return objects;
}

}  // namespace ds::launcher
