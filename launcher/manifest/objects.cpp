// The objects of a job around its pods: names, labels, pod templates, Service, Secret, ConfigMap,
// and the group that schedules all pods at once.
#include <fmt/format.h>

#include "launcher/manifest/pod.h"

namespace ds::launcher {
namespace {

using List = Yaml::List;

// Annotation and label that name the PodGroup of a pod.
constexpr const char* kVolcanoGroup = "scheduling.k8s.io/group-name";
constexpr const char* kCoschedulingGroup = "scheduling.x-k8s.io/pod-group";

Yaml metadata(const ManifestRequest& request, const std::string& name, Yaml::Map labels = {}) {
  labels.emplace(labels.begin(), kJobLabel, request.name);
  Yaml::Map map = {{"name", name}};
  if (!request.space.empty()) map.emplace_back("namespace", request.space);
  map.emplace_back("labels", std::move(labels));
  return map;
}

/// Returns an object that cannot be changed, only deleted: pods that start later must find what the
/// running ones have found.
Yaml fixed_object(const ManifestRequest& request, const char* kind, const std::string& name,
                  const char* key, Yaml data) {
  return {{"apiVersion", "v1"},
          {"kind", kind},
          {"metadata", metadata(request, name)},
          {"immutable", true},
          {key, std::move(data)}};
}

bool has_pod_group(const ManifestRequest& request) {
  return request.gang == Gang::volcano || request.gang == Gang::coscheduling;
}

Yaml pod_group(const ManifestRequest& request) {
  const bool volcano = request.gang == Gang::volcano;
  return object(request, volcano ? "scheduling.volcano.sh/v1beta1" : "scheduling.x-k8s.io/v1alpha1",
                "PodGroup", {{"minMember", request.least_nodes > 0 ? request.least_nodes
                                                              : request.nodes}});
}

std::string scheduler(const ManifestRequest& request) {
  if (!request.gang_name.empty()) return request.gang_name;
  return request.gang == Gang::volcano ? "volcano" : "scheduler-plugins-scheduler";
}

}  // namespace

Yaml object(const ManifestRequest& request, const char* api, const char* kind, Yaml spec) {
  Yaml::Map labels;
  if (request.gang == Gang::kueue && std::string_view(kind) != "Service")
    labels.emplace_back("kueue.x-k8s.io/queue-name", request.gang_name);
  return {{"apiVersion", api},
          {"kind", kind},
          {"metadata", metadata(request, request.name, std::move(labels))},
          {"spec", std::move(spec)}};
}

Yaml pod_template(const ManifestRequest& request, Yaml::Map spec) {
  Yaml::Map labels = {{kJobLabel, request.name}};
  if (request.gang == Gang::coscheduling) labels.emplace_back(kCoschedulingGroup, request.name);
  Yaml::Map metadata = {{"labels", std::move(labels)}};
  if (request.gang == Gang::volcano)
    metadata.emplace_back("annotations", Yaml{{kVolcanoGroup, request.name}});
  if (has_pod_group(request)) spec.emplace(spec.begin(), "schedulerName", scheduler(request));
  return {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

Yaml headless_service(const ManifestRequest& request) {
  return object(request, "v1", "Service",
                {{"clusterIP", "None"},
                 {"publishNotReadyAddresses", true},
                 {"selector", {{kJobLabel, request.name}}},
                 {"ports", List{Yaml{{"name", "join"}, {"port", kRootPort}}}}});
}

std::string token_secret(const ManifestRequest& request) {
  return request.token_secret.empty() ? request.name + "-token" : request.token_secret;
}

std::vector<Yaml> own_objects(const ManifestRequest& request) {
  std::vector<Yaml> objects;
  if (request.new_token)
    objects.push_back(fixed_object(request, "Secret", token_secret(request), "stringData",
                                   {{"token", *request.new_token}}));
  if (request.config_text)
    objects.push_back(fixed_object(request, "ConfigMap", request.name + "-config", "data",
                                   {{"train.toml", *request.config_text}}));
  if (has_pod_group(request)) objects.push_back(pod_group(request));
  return objects;
}

}  // namespace ds::launcher
