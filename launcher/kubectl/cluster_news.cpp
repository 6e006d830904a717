// Reads what kubectl prints of pods, jobs and events.
#include "launcher/kubectl/cluster_news.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/units.h"

namespace ds::launcher {
namespace {

using Json = nlohmann::json;

Json parsed(std::string_view text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

/// Returns the value at a path such as "/metadata/name"; null where the path ends early.
Json at(const Json& json, const char* path) {
  const Json::json_pointer pointer(path);
  return json.is_structured() && json.contains(pointer) ? json.at(pointer) : Json();
}

std::string text_at(const Json& json, const char* path) {
  const Json value = at(json, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// Returns "REASON: MESSAGE", or what there is of it.
std::string reason_of(const Json& state) {
  const std::string reason = text_at(state, "/reason");
  const std::string message = text_at(state, "/message");
  return reason + (reason.empty() || message.empty() ? "" : ": ") + message;
}

/// Returns whether `name` is `first`, or begins with it and a '-'.
bool is_or_continues(std::string_view name, std::string_view first) {
  return name.starts_with(first) && (name.size() == first.size() || name[first.size()] == '-');
}

bool is_root(ManifestKind kind, std::string_view job, const Json& pod) {
  const std::string name = text_at(pod, "/metadata/name");
  const auto label = [&](const char* key) {
    const Json labels = at(pod, "/metadata/labels");
    const auto found = labels.find(key);
    return found != labels.end() && found->is_string() ? found->get<std::string>() : "";
  };
  switch (kind) {
    case ManifestKind::mpijob:
    case ManifestKind::trainjob:
    case ManifestKind::etjob:
      return is_or_continues(name, fmt::format("{}-launcher", job));
    case ManifestKind::volcano:
      return name.ends_with("-node-0");
    case ManifestKind::lws:
      return label("leaderworkerset.sigs.k8s.io/worker-index") == "0";
    case ManifestKind::statefulset:
      return name.ends_with("-0");
    default:
      return label("batch.kubernetes.io/job-completion-index") == "0";
  }
}

/// Returns the condition of a pod that no node takes; null of others.
Json unscheduled_of(const Json& pod) {
  for (const Json& condition : at(pod, "/status/conditions"))
    if (text_at(condition, "/type") == "PodScheduled" && text_at(condition, "/status") == "False")
      return condition;
  return {};
}

/// Returns why a pod has not started: its container waits, or no node takes it.
std::string waiting_of(const Json& pod, const Json& container) {
  const std::string reason = reason_of(at(container, "/state/waiting"));
  return reason.empty() ? reason_of(unscheduled_of(pod)) : reason;
}

}  // namespace

std::string_view resource_of(ManifestKind kind) {
  constexpr std::array<std::string_view, 9> kResources = {
      "jobs.batch",
      "jobsets.jobset.x-k8s.io",
      "statefulsets.apps",
      "leaderworkersets.leaderworkerset.x-k8s.io",
      "mpijobs.kubeflow.org",
      "trainjobs.trainer.kubeflow.org",
      "trainjobs.trainer.kubeflow.org",
      "trainingjobs.kai.alibabacloud.com",
      "jobs.batch.volcano.sh"};
  return kResources[static_cast<std::size_t>(kind)];
}

std::optional<RootPod> root_pod(ManifestKind kind, std::string_view job, std::string_view pods) {
  Json newest;
  for (const Json& pod : at(parsed(pods), "/items")) {
    if (!is_root(kind, job, pod)) continue;
    // Times of equal form are ordered as text.
    const char* const kCreated = "/metadata/creationTimestamp";
    if (newest.is_null() || text_at(pod, kCreated) >= text_at(newest, kCreated)) newest = pod;
  }
  if (newest.is_null()) return std::nullopt;
  const Json container = at(newest, "/status/containerStatuses/0");
  const Json ended = at(container, "/state/terminated");
  const Json starts = at(container, "/restartCount");
  RootPod root{.name = text_at(newest, "/metadata/name"),
               .uid = fmt::format("{}/{}", text_at(newest, "/metadata/uid"),
                                  starts.is_number_integer() ? starts.get<int>() : 0)};
  root.running = !at(container, "/state/running").is_null();
  root.started = root.running || !ended.is_null();
  for (const char* path : {"/state/terminated/exitCode", "/lastState/terminated/exitCode"})
    if (const Json code = at(container, path); !root.code && code.is_number_integer())
      root.code = code.get<int>();
  if (!root.started) root.waiting = waiting_of(newest, container);
  return root;
}

std::string unscheduled(std::string_view pods) {
  int alive = 0;
  std::vector<std::string> waiting;
  for (const Json& pod : at(parsed(pods), "/items")) {
    const std::string phase = text_at(pod, "/status/phase");
    if (phase != "Pending" && phase != "Running") continue;
    ++alive;
    if (const Json condition = unscheduled_of(pod); !condition.is_null())
      waiting.push_back(
          fmt::format("{}: {}", text_at(pod, "/metadata/name"), text_at(condition, "/message")));
  }
  return waiting.empty() ? std::string()
                         : fmt::format("{} of {}: {}", waiting.size(), counted(alive, "pod"),
                                       waiting.front());
}

std::optional<ClusterEnd> end_of(std::string_view object) {
  const Json json = parsed(object);
  const auto is = [](const std::string& word, std::initializer_list<const char*> words) {
    return std::ranges::find(words, word) != words.end();
  };
  for (const Json& condition : at(json, "/status/conditions")) {
    if (text_at(condition, "/status") != "True") continue;
    const std::string type = text_at(condition, "/type");
    if (is(type, {"Complete", "Completed", "Succeeded"})) return ClusterEnd{.succeeded = true};
    if (type == "Failed") return ClusterEnd{.reason = reason_of(condition)};
  }
  for (const char* path : {"/status/state/phase", "/status/phase"}) {  // Volcano, et-operator
    const std::string phase = text_at(json, path);
    if (is(phase, {"Completed", "Succeeded"})) return ClusterEnd{.succeeded = true};
    if (is(phase, {"Failed", "Aborted", "Terminated"})) return ClusterEnd{.reason = phase};
  }
  return std::nullopt;
}

std::string newest_warning(const std::string& job, std::string_view events) {
  std::pair<std::string, std::string> newest;
  for (const Json& event : at(parsed(events), "/items")) {
    const std::string name = text_at(event, "/involvedObject/name");
    if (!is_or_continues(name, job)) continue;
    const std::string last = text_at(event, "/lastTimestamp");
    newest = std::max(newest, {last, reason_of(event)});
  }
  return newest.second;
}

std::string advice_for(std::string_view message) {
  struct Known {
    std::string_view part;
    std::string_view advice;
  };
  constexpr Known kKnown[] = {
      {"no matches for kind", "this cluster lacks the controller of that kind: another --kind"},
      {"doesn't have a resource type",
       "this cluster lacks the controller of that kind: another --kind"},
      {"violates PodSecurity",
       "leave out --run-as-root, or use a namespace whose level allows this pod"},
      {"must specify", "the namespace has a ResourceQuota: give --cpu and --memory"},
      {"exceeded quota", "fewer --nodes, less --cpu and --memory, or a larger ResourceQuota"},
      {"is immutable", "a job of this name is there: end it with dslaunch k8s delete first"},
      {"AlreadyExists", "a job of this name is there: end it with dslaunch k8s delete first"},
      {"is forbidden: User", "ask the cluster's administrator for this right (kubectl auth can-i)"},
      {"namespaces \"", "make the namespace first, or name another one with --namespace"},
      {"Unauthorized", "log in to the cluster again: kubectl's credentials are not accepted"},
      {"was refused", "is the cluster running, and is kubectl's context the right one?"},
      {"Unable to connect", "is the cluster running, and is kubectl's context the right one?"},
      {"no such host", "is kubectl's context the right one (kubectl config current-context)?"},
      {"Insufficient",
       "less --cpu, --memory or --gpu for each pod, or wait for other jobs; with --gang no pod "
       "starts before all pods of the job can"},
      {"ImagePull", "is --image right, and may the cluster's nodes pull it?"},
      {"InvalidImageName", "--image must be a name such as registry.example/dslaunch:1"},
      {"secret \"", "make the Secret first (the manifest's first lines), or use --new-token"},
  };
  for (const Known& known : kKnown)
    if (message.find(known.part) != std::string_view::npos) return std::string(known.advice);
  return {};
}

std::string owner_patch(std::string_view object) {
  const Json json = parsed(object);
  const std::string uid = text_at(json, "/metadata/uid");
  if (uid.empty()) return {};
  const Json owner = {{"apiVersion", text_at(json, "/apiVersion")},
                      {"kind", text_at(json, "/kind")},
                      {"name", text_at(json, "/metadata/name")},
                      {"uid", uid}};
  return Json{{"metadata", {{"ownerReferences", Json::array({owner})}}}}.dump();
}

}  // namespace ds::launcher
