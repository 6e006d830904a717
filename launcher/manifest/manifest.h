// Kubernetes manifests of jobs: the options of a manifest, their checks, and its text. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds::launcher {

/// Kind of Kubernetes object that runs the pods.
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

/// What schedules all pods of a job at once, or none.
enum class Gang { none, kueue, volcano, coscheduling };
inline constexpr std::array<std::string_view, 4> kGangs = {"none", "kueue", "volcano",
                                                           "coscheduling"};

struct PodClaim {
  std::string name;  // name of a PersistentVolumeClaim
  std::string path;  // mount path
};

/// Options of a manifest.
struct ManifestRequest {
  ManifestKind kind = ManifestKind::indexed;
  std::string name = "train";
  std::string space;  // namespace; empty: that of kubectl
  std::string image;
  int nodes = 1;
  int least_nodes = 0;  // of a job whose number of nodes may change, up to `nodes`; 0: it may not
  int slots = 1;
  std::string gpu = "nvidia.com/gpu";  // resource of one slot; empty: none
  std::string cpu;                     // CPUs of a node, such as 4 or 250m; empty: not set
  std::string memory;                  // memory of a node, such as 64Gi; empty: not set
  bool as_root = false;                // root runs the pods; otherwise they are `restricted`
  bool read_only = false;              // pods write only into volumes
  Gang gang = Gang::none;
  std::string gang_name;    // queue of Kueue, or scheduler; empty: the usual one
  int leave_seconds = 120;  // time between TERM and KILL of a pod
  std::optional<int> max_restarts;
  std::string token_secret;              // empty: NAME-token
  std::optional<std::string> new_token;  // if set, the manifest contains a Secret with it
  std::vector<PodClaim> claims;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> options;  // further options of the job, before its command

  // Exactly one is set: a command, or a path in the pods with overrides.
  std::vector<std::string> command;
  std::string config;
  std::vector<std::string> overrides;
  std::optional<std::string> config_text;  // text of the file at `config`, for a ConfigMap
};

/// Path in the pods of the file with ManifestRequest::config_text. It lies beside the image's data,
/// so that relative paths of a file in configs/ keep their meaning.
inline constexpr std::string_view kPodConfig = "/opt/dslaunch/job/train.toml";

/// Returns the documents. A comment above them says what must exist first.
/// Errors:  Error{usage} naming an option whose value Kubernetes would refuse, with a hint.
std::string manifest_text(const ManifestRequest& request);

/// Label of every object and pod of a job; its value is the job's name.
inline constexpr const char* kJobLabel = "dslaunch.io/job";

/// Escapes a word for a container's command: Kubernetes expands $(NAME) and reads $$ as $.
std::string container_word(std::string_view word);

// Checks by Kubernetes' rules. Errors of all:  Error{usage} naming the option.

/// Checks all values.
void check_request(const ManifestRequest& request);

/// Check one value each. A checked job name may still be too long for its kind.
void check_job_name(const std::string& name);
void check_label(std::string_view option, const std::string& value);
/// Checks the name of a Secret or claim: labels separated by dots.
void check_object(std::string_view option, const std::string& value);
/// Checks the characters of an image reference; the cluster checks whether the image exists.
void check_image(const std::string& image);
/// Checks a quantity of Kubernetes that is more than 0, such as 64Gi, 0.5, 250m or 1e3.
void check_quantity(std::string_view option, const std::string& text);
/// Checks a resource of nodes such as nvidia.com/gpu.
void check_resource(const std::string& text);
void check_claim(const PodClaim& claim);
void check_variable(const std::string& name, const std::string& value);

}  // namespace ds::launcher
