// Reads what kubectl prints about a job: its root pod, its end, warnings, refusals. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/manifest/manifest.h"

namespace ds::launcher {

/// Returns the resource that kubectl knows a kind by: "jobsets.jobset.x-k8s.io".
std::string_view resource_of(ManifestKind kind);

/// The pod whose output is that of the job: of index 0, or the launcher.
struct RootPod {
  std::string name;
  std::string uid;            // another one after each start of its container
  bool started = false;       // its container runs or has ended
  bool running = false;       // its container runs
  std::optional<int> code{};  // of its container, the last time that it ended
  std::string waiting{};      // why it has not started: "ImagePullBackOff: ..."
};
/// Finds the newest root pod of the job with this name in a list of the job's pods (kubectl get pods
/// -o json).
std::optional<RootPod> root_pod(ManifestKind kind, std::string_view job, std::string_view pods);

/// Returns which pods no node takes, and why: "1 of 2 pods: gpt-1-x: 0/3 nodes are available: ...";
/// empty: none.
std::string unscheduled(std::string_view pods);

struct ClusterEnd {
  bool succeeded = false;
  std::string reason{};  // "PodFailurePolicy: Container node for pod ... failed with exit code 65"
};
/// Returns how the main object of a job has ended; nothing while it goes on.
std::optional<ClusterEnd> end_of(std::string_view object);

/// Returns the newest warning about objects whose names begin with that of the job, from
/// kubectl get events -o json; empty: none.
std::string newest_warning(const std::string& job, std::string_view events);

/// Returns what the user can change about a message of the API server or of kubectl; empty if it is
/// not known.
std::string advice_for(std::string_view message);

/// Returns a JSON patch that makes the main object the owner, so that what it owns is deleted with
/// it; empty if `object` has no uid.
std::string owner_patch(std::string_view object);

}  // namespace ds::launcher
