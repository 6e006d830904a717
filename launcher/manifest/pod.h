// Parts of pods that all kinds share. Pure; private to this folder.
#pragma once

#include "launcher/manifest/manifest.h"
#include "launcher/manifest/yaml.h"

namespace ds::launcher {

inline constexpr int kRootPort = 29400;  // port of the root (docs/protocol.md)

// objects.cpp

/// Returns an object with the name of the job, in its namespace if one is given.
Yaml object(const ManifestRequest& request, const char* api, const char* kind, Yaml spec);
/// Returns a pod template with the job's label, those of its gang, and `spec`.
Yaml pod_template(const ManifestRequest& request, Yaml::Map spec);
/// Returns a headless Service for the pods of the job.
Yaml headless_service(const ManifestRequest& request);
/// Returns the objects that a job needs beside its main one: the ConfigMap with its file, the
/// Secret with a new token, the group of its gang.
std::vector<Yaml> own_objects(const ManifestRequest& request);
/// Returns the name of the Secret with the token.
std::string token_secret(const ManifestRequest& request);

// pod.cpp

/// Add the security context of a pod or container that the level `restricted` of Pod Security
/// accepts, or for pods of root only what else is asked for.
void add_pod_security(const ManifestRequest& request, Yaml::Map& pod);
void add_container_security(const ManifestRequest& request, Yaml::Map& container);

/// restartPolicy of pods whose Job looks at their exit codes.
inline constexpr std::pair<const char*, const char*> kNeverRestart = {"restartPolicy", "Never"};
/// Returns the policies of an Indexed Job, whose pods have kNeverRestart. They fail the Job on exit
/// codes that no restart can cure, and do not count pods that Kubernetes removed, nor those that
/// ended with them (143: all pods of a job end together when one of them gets TERM).
Yaml::Map restart_policies();
/// Returns the failurePolicy of a JobSet that ends with such a Job.
Yaml set_failure_policy();

/// Returns `train.toml key=value ...` or `-- CMD ...` for a container's command.
std::vector<std::string> job_words(const ManifestRequest& request);
/// Returns `dslaunch ...`, for a launcher whose operator names the hosts.
std::vector<std::string> launcher_command(const ManifestRequest& request);
/// Converts words to a container's `command`.
Yaml container_words(const std::vector<std::string>& words);
/// Returns the seconds between TERM and KILL of ranks, so that the pod can end within its own.
int grace_seconds(const ManifestRequest& request);

/// Returns a variable with the token.
Yaml secret_variable(const ManifestRequest& request, const char* name);
/// Adds `env` and the variables of -x to a container, if there are any.
void add_variables(const ManifestRequest& request, Yaml::List env, Yaml::Map& container);
/// Adds GPUs, CPUs and memory of one node under `key`, if any is set.
void add_resources(const ManifestRequest& request, const char* key, Yaml::Map& container);
/// Return the volumes and mounts of one pod: the file of the job, the claims, /dev/shm, and what a
/// pod with a read-only image writes.
Yaml::List volumes(const ManifestRequest& request);
Yaml::List volume_mounts(const ManifestRequest& request);

/// Returns the spec of a pod that runs `dslaunch agent --join ...`, as every pod of a job without
/// ssh does; `first` comes first in it.
Yaml::Map agent_pod(const ManifestRequest& request, const std::string& peers, bool long_running,
                    Yaml::Map first = {});

/// One function for each ManifestKind returns its objects.
using KindObjects = std::vector<Yaml>(const ManifestRequest& request);
KindObjects indexed_job, jobset, statefulset, lws, volcano_job;  // agent_kinds.cpp
KindObjects mpijob, trainjob, trainjob_torch, etjob;             // operator_kinds.cpp

}  // namespace ds::launcher
