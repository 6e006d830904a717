// What a job on Kubernetes is wished to be -> the manifest that makes it. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds::launcher {

/// What runs the pods.
enum class ManifestKind {
  indexed,
  jobset,
  statefulset,
  lws,
  mpijob,
  trainjob,
  trainjob_torch,
  etjob,
  volcano
};
inline constexpr std::array<std::string_view, 9> kManifestKinds = {
    "indexed",  "jobset",         "statefulset", "lws",    "mpijob",
    "trainjob", "trainjob-torch", "etjob",       "volcano"};

struct PodClaim {
  std::string name;  // of a PersistentVolumeClaim
  std::string path;  // where it is mounted
};

struct ManifestWish {
  ManifestKind kind = ManifestKind::indexed;
  std::string name = "train";
  std::string space;  // the namespace; empty: that of kubectl
  std::string image;
  int nodes = 1;
  int slots = 1;
  std::string gpu = "nvidia.com/gpu";  // resource of one slot; empty: none
  int cpus = 0;                        // of a node; 0: nothing is said
  std::string memory;                  // of a node, as 64Gi; empty: nothing is said
  int leave_seconds = 120;             // from TERM of a pod to its KILL
  std::optional<int> max_restarts;
  std::string token_secret;              // empty: NAME-token
  std::optional<std::string> new_token;  // a Secret that holds it is part of the manifest
  std::vector<PodClaim> claims;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> options;  // of the job, before its command

  // Exactly one of the two: a command, or a path in the pods and overrides.
  std::vector<std::string> command;
  std::string config;
  std::vector<std::string> overrides;
  std::optional<std::string> config_text;  // of the file at `config`: goes into a ConfigMap
};

/// Where pods find the file of ManifestWish::config_text: beside the image's data, so that the
/// paths of a file in configs/ mean the same.
inline constexpr std::string_view kPodConfig = "/opt/dslaunch/job/train.toml";

/// The documents, with a comment above them that says what has to be there before.
/// Errors:  Error{usage} naming the option whose value Kubernetes would refuse, with a hint.
std::string manifest_text(const ManifestWish& wish);

/// A word of a container's command that Kubernetes will hand over as `word`: it expands $(NAME) and
/// takes $$ for $.
std::string container_word(std::string_view word);

}  // namespace ds::launcher
