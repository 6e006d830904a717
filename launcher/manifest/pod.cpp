// Containers, volumes, resources and small objects.
#include "launcher/manifest/pod.h"

#include <fmt/format.h>

namespace ds::launcher {
namespace {

constexpr const char* kConfigFolder = "/opt/dslaunch/job";
constexpr int kUser = 1000;  // mpiuser of the image

std::string claim_volume(std::size_t index) { return fmt::format("claim-{}", index); }

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

/// What tells one job, and one attempt of it, from another of the same name.
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

Yaml::Map agent_container(const ManifestWish& wish, const std::string& peers, bool long_running) {
  Yaml::List env = {field_variable("POD_IP", "status.podIP"),
                    field_variable("POD_UID", "metadata.uid"),
                    field_variable("POD_NAMESPACE", "metadata.namespace")};
  for (Yaml& variable : identity_variables(wish.kind)) env.push_back(std::move(variable));
  env.push_back(secret_variable(wish, "DSLAUNCH_TOKEN"));
  add_wished_variables(wish, env);
  Yaml::Map container = {
      {"name", "node"},
      {"image", wish.image},
      {"command", container_words(agent_command(wish, peers, long_running))},
      {"env", env},
      {"ports", yaml_list({yaml_map({{"name", "join"}, {"containerPort", kManifestJoinPort}})})}};
  if (Yaml::Map wanted = resources(wish); !wanted.empty())
    container.emplace_back("resources", std::move(wanted));
  container.emplace_back("volumeMounts", volume_mounts(wish));
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

Yaml metadata(const ManifestWish& wish, const std::string& name) {
  Yaml::Map map = {{"name", name}};
  if (!wish.space.empty()) map.emplace_back("namespace", wish.space);
  return map;
}

std::vector<std::string> job_words(const ManifestWish& wish) {
  std::vector<std::string> words;
  if (wish.command.empty()) {
    words.push_back(wish.config);
    append(words, wish.overrides);
  } else {
    words.emplace_back("--");
    append(words, wish.command);
  }
  return words;
}

std::vector<std::string> job_options(const ManifestWish& wish) {
  std::vector<std::string> words;
  const int restarts = wish.max_restarts.value_or(3);
  if (restarts > 0) words = {"--max-restarts", std::to_string(restarts)};
  append(words, wish.options);
  return words;
}

std::vector<std::string> agent_command(const ManifestWish& wish, const std::string& peers,
                                       bool long_running) {
  std::vector<std::string> words = {"dslaunch", "agent", "--join"};
  if (!peers.empty()) append(words, {"--peers", peers});
  append(words, {"--slots", std::to_string(wish.slots)});
  if (long_running) append(words, {"--on-success", "idle"});
  append(words, job_options(wish));
  append(words, job_words(wish));
  return words;
}

std::vector<std::string> forwarded(const ManifestWish& wish) {
  std::vector<std::string> words;
  for (const auto& variable : wish.env) append(words, {"-x", variable.first});
  return words;
}

std::vector<std::string> launcher_command(const ManifestWish& wish) {
  std::vector<std::string> words = {"dslaunch"};
  append(words, forwarded(wish));
  append(words, job_options(wish));
  append(words, job_words(wish));
  return words;
}

Yaml container_words(const std::vector<std::string>& words) {
  Yaml::List list;
  for (const std::string& word : words) list.emplace_back(container_word(word));
  return list;
}

std::string token_secret(const ManifestWish& wish) {
  return wish.token_secret.empty() ? wish.name + "-token" : wish.token_secret;
}

Yaml::Map secret_variable(const ManifestWish& wish, const std::string& name) {
  const Yaml key = yaml_map({{"name", token_secret(wish)}, {"key", "token"}});
  return {{"name", name}, {"valueFrom", yaml_map({{"secretKeyRef", key}})}};
}

Yaml::Map field_variable(const std::string& name, const std::string& path) {
  const Yaml field = yaml_map({{"fieldPath", path}});
  return {{"name", name}, {"valueFrom", yaml_map({{"fieldRef", field}})}};
}

void add_wished_variables(const ManifestWish& wish, Yaml::List& env) {
  for (const auto& [name, value] : wish.env)
    env.push_back(yaml_map({{"name", name}, {"value", container_word(value)}}));
}

Yaml::Map resources(const ManifestWish& wish) {
  Yaml::Map amounts;
  if (wish.cpus > 0) amounts.emplace_back("cpu", wish.cpus);
  if (!wish.memory.empty()) amounts.emplace_back("memory", wish.memory);
  if (!wish.gpu.empty()) amounts.emplace_back(wish.gpu, wish.slots);
  return amounts.empty() ? Yaml::Map() : Yaml::Map{{"limits", amounts}};
}

Yaml::List volumes(const ManifestWish& wish) {
  Yaml::List list = {yaml_map({{"name", "shm"}, {"emptyDir", yaml_map({{"medium", "Memory"}})}})};
  if (wish.config_text)
    list.push_back(
        yaml_map({{"name", "job"}, {"configMap", yaml_map({{"name", wish.name + "-config"}})}}));
  for (std::size_t i = 0; i < wish.claims.size(); ++i)
    list.push_back(
        yaml_map({{"name", claim_volume(i)},
                  {"persistentVolumeClaim", yaml_map({{"claimName", wish.claims[i].name}})}}));
  return list;
}

Yaml::List volume_mounts(const ManifestWish& wish) {
  Yaml::List list = {yaml_map({{"name", "shm"}, {"mountPath", "/dev/shm"}})};
  if (wish.config_text)
    list.push_back(yaml_map({{"name", "job"}, {"mountPath", kConfigFolder}, {"readOnly", true}}));
  for (std::size_t i = 0; i < wish.claims.size(); ++i)
    list.push_back(yaml_map({{"name", claim_volume(i)}, {"mountPath", wish.claims[i].path}}));
  return list;
}

Yaml::Map agent_pod(const ManifestWish& wish, const std::string& peers, bool long_running) {
  return {
      {"automountServiceAccountToken", false},
      {"enableServiceLinks", false},
      {"terminationGracePeriodSeconds", wish.leave_seconds},
      {"securityContext", yaml_map({{"runAsNonRoot", true},
                                    {"runAsUser", kUser},
                                    {"runAsGroup", kUser},
                                    {"fsGroup", kUser},
                                    {"seccompProfile", yaml_map({{"type", "RuntimeDefault"}})}})},
      {"containers", yaml_list({agent_container(wish, peers, long_running)})},
      {"volumes", volumes(wish)}};
}

Yaml headless_service(const ManifestWish& wish, const std::string& label,
                      const std::string& value) {
  const Yaml port = yaml_map({{"name", "join"}, {"port", kManifestJoinPort}});
  return yaml_map({{"apiVersion", "v1"},
                   {"kind", "Service"},
                   {"metadata", metadata(wish, wish.name)},
                   {"spec", yaml_map({{"clusterIP", "None"},
                                      {"publishNotReadyAddresses", true},
                                      {"selector", yaml_map({{label, value}})},
                                      {"ports", yaml_list({port})}})}});
}

std::vector<Yaml> own_objects(const ManifestWish& wish) {
  std::vector<Yaml> objects;
  if (wish.new_token)
    objects.push_back(yaml_map({{"apiVersion", "v1"},
                                {"kind", "Secret"},
                                {"metadata", metadata(wish, token_secret(wish))},
                                {"stringData", yaml_map({{"token", *wish.new_token}})}}));
  if (wish.config_text)
    objects.push_back(yaml_map({{"apiVersion", "v1"},
                                {"kind", "ConfigMap"},
                                {"metadata", metadata(wish, wish.name + "-config")},
                                {"data", yaml_map({{"train.toml", *wish.config_text}})}}));
  return objects;
}

}  // namespace ds::launcher
