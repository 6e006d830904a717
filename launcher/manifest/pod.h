// What the pods of every kind have in common. Pure; private to this folder.
#pragma once

#include "launcher/manifest/manifest.h"
#include "launcher/manifest/yaml.h"

namespace ds::launcher {

/// name, and namespace where one is wished.
Yaml metadata(const ManifestWish& wish, const std::string& name);

/// `train.toml key=value ...` or `-- CMD ...`, for a container's command.
std::vector<std::string> job_words(const ManifestWish& wish);
/// Options that hold for any job: those of --with, --max-restarts.
std::vector<std::string> job_options(const ManifestWish& wish);
/// `dslaunch agent --join ...`: what every pod of a job without ssh runs.
std::vector<std::string> agent_command(const ManifestWish& wish, const std::string& peers,
                                       bool long_running);
/// `dslaunch ...`: for a launcher whose operator says which hosts there are.
std::vector<std::string> launcher_command(const ManifestWish& wish);
/// As a container's `command`.
Yaml container_words(const std::vector<std::string>& words);

std::string token_secret(const ManifestWish& wish);
/// A variable with the token.
Yaml::Map secret_variable(const ManifestWish& wish, const std::string& name);
Yaml::Map field_variable(const std::string& name, const std::string& path);
/// Those of -x.
void add_wished_variables(const ManifestWish& wish, Yaml::List& env);
/// -x of dslaunch for each of them: what ssh does not carry.
std::vector<std::string> forwarded(const ManifestWish& wish);

/// Of one node: GPUs, CPUs, memory; nothing is said: an empty map.
Yaml::Map resources(const ManifestWish& wish);
/// Of one pod: the file of the job, the claims, and /dev/shm.
Yaml::List volumes(const ManifestWish& wish);
Yaml::List volume_mounts(const ManifestWish& wish);

/// spec of a pod that runs agent_command.
Yaml::Map agent_pod(const ManifestWish& wish, const std::string& peers, bool long_running);
/// A headless Service for the pods that `selector` names.
Yaml headless_service(const ManifestWish& wish, const std::string& label, const std::string& value);
/// The ConfigMap with the file of the job, and the Secret with a new token, where they are wished.
std::vector<Yaml> own_objects(const ManifestWish& wish);

std::vector<Yaml> agent_kind(const ManifestWish& wish);
std::vector<Yaml> operator_kind(const ManifestWish& wish);

/// Port of the root, as docs/protocol.md says.
inline constexpr int kManifestJoinPort = 29400;

}  // namespace ds::launcher
