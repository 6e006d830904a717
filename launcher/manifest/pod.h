// Parts of pods that all kinds share. Pure; private to this folder.
#pragma once

#include "launcher/manifest/manifest.h"
#include "launcher/manifest/yaml.h"

namespace ds::launcher {

/// Returns metadata with the name, and the namespace if one is given.
Yaml metadata(const ManifestRequest& request, const std::string& name);

/// Returns `train.toml key=value ...` or `-- CMD ...` for a container's command.
std::vector<std::string> job_words(const ManifestRequest& request);
/// Returns the options of any job: --max-restarts and those of --with.
std::vector<std::string> job_options(const ManifestRequest& request);
/// Returns `dslaunch agent --join ...`, which every pod of a job without ssh runs.
std::vector<std::string> agent_command(const ManifestRequest& request, const std::string& peers,
                                       bool long_running);
/// Returns `dslaunch ...`, for a launcher whose operator names the hosts.
std::vector<std::string> launcher_command(const ManifestRequest& request);
/// Converts words to a container's `command`.
Yaml container_words(const std::vector<std::string>& words);

/// Returns the name of the Secret with the token.
std::string token_secret(const ManifestRequest& request);
/// Returns a variable with the token.
Yaml::Map secret_variable(const ManifestRequest& request, const std::string& name);
Yaml::Map field_variable(const std::string& name, const std::string& path);
/// Appends the variables of -x.
void add_requested_variables(const ManifestRequest& request, Yaml::List& env);
/// Returns -x of dslaunch for each of these variables, because ssh does not carry them.
std::vector<std::string> forwarded(const ManifestRequest& request);

/// Returns GPUs, CPUs and memory of one node; an empty map if nothing is set.
Yaml::Map resources(const ManifestRequest& request);
/// Return the volumes and mounts of one pod: the file of the job, the claims, and /dev/shm.
Yaml::List volumes(const ManifestRequest& request);
Yaml::List volume_mounts(const ManifestRequest& request);

/// Returns the spec of a pod that runs agent_command.
Yaml::Map agent_pod(const ManifestRequest& request, const std::string& peers, bool long_running);
/// Returns a headless Service for the pods with this label.
Yaml headless_service(const ManifestRequest& request, const std::string& label,
                      const std::string& value);
/// Returns the ConfigMap with the file of the job and the Secret with a new token, if requested.
std::vector<Yaml> own_objects(const ManifestRequest& request);

/// Return the objects of the kind; empty if it belongs to the other function.
std::vector<Yaml> agent_kind(const ManifestRequest& request);
std::vector<Yaml> operator_kind(const ManifestRequest& request);

/// Port of the root (docs/protocol.md).
inline constexpr int kManifestJoinPort = 29400;

}  // namespace ds::launcher
