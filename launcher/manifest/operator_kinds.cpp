// Manifests of kinds whose operator names the hosts: over ssh with the operator's keys, or by
// torchrun's variables (Trainer's torch runtime).
#include <fmt/format.h>

#include "launcher/manifest/pod.h"

namespace ds::launcher {
namespace {

constexpr const char* kRuntime = "dslaunch-distributed";
constexpr const char* kKeys = "/home/mpiuser/.ssh";

/// Returns a pod with one container. An empty `command` leaves the operator's own command, sshd.
Yaml::Map ssh_pod(const ManifestRequest& request, const std::string& container_name,
                  const std::vector<std::string>& command, bool works) {
  Yaml::List env;
  Yaml::Map container = {{"name", container_name}, {"image", request.image}};
  if (!command.empty()) {
    container.emplace_back("command", container_words(command));
    add_requested_variables(request, env);
  }
  if (!env.empty()) container.emplace_back("env", env);
  if (Yaml::Map wanted = resources(request); works && !wanted.empty())
    container.emplace_back("resources", std::move(wanted));
  container.emplace_back("volumeMounts", volume_mounts(request));
  container.emplace_back("terminationMessagePolicy", "FallbackToLogsOnError");
  return {{"terminationGracePeriodSeconds", request.leave_seconds},
          {"containers", yaml_list({container})},
          {"volumes", volumes(request)}};
}

Yaml pod_template(Yaml::Map pod) { return yaml_map({{"spec", std::move(pod)}}); }

std::vector<Yaml> mpijob(const ManifestRequest& request) {
  const Yaml launcher = yaml_map(
      {{"restartPolicy", "OnFailure"},
       {"template", pod_template(ssh_pod(request, "launcher", launcher_command(request), false))}});
  const Yaml worker = yaml_map({{"replicas", request.nodes},
                                {"template", pod_template(ssh_pod(request, "worker", {}, true))}});
  return {yaml_map(
      {{"apiVersion", "kubeflow.org/v2beta1"},
       {"kind", "MPIJob"},
       {"metadata", metadata(request, request.name)},
       {"spec",
        yaml_map({{"slotsPerWorker", request.slots},
                  {"mpiImplementation", "OpenMPI"},
                  {"sshAuthMountPath", "/root/.ssh"},
                  {"runPolicy", yaml_map({{"cleanPodPolicy", "Running"}, {"backoffLimit", 6}})},
                  {"mpiReplicaSpecs", yaml_map({{"Launcher", launcher}, {"Worker", worker}})}})}})};
}

std::vector<Yaml> etjob(const ManifestRequest& request) {
  const Yaml launcher = yaml_map(
      {{"replicas", 1},
       {"template", pod_template(ssh_pod(request, "et", launcher_command(request), false))}});
  const Yaml worker = yaml_map({{"replicas", request.nodes},
                                {"minReplicas", request.nodes},
                                {"maxReplicas", request.nodes},
                                {"template", pod_template(ssh_pod(request, "et", {}, true))}});
  return {yaml_map(
      {{"apiVersion", "kai.alibabacloud.com/v1alpha1"},
       {"kind", "TrainingJob"},
       {"metadata", metadata(request, request.name)},
       {"spec",
        yaml_map({{"cleanPodPolicy", "Running"},
                  {"launcherAttachMode", "ssh"},
                  {"slotsPerWorker", request.slots},
                  {"backoffLimit", 6},
                  {"etReplicaSpecs", yaml_map({{"launcher", launcher}, {"worker", worker}})}})}})};
}

/// Returns a pod of the runtime. Trainer mounts keys and hostfile in containers named `node`.
Yaml::Map runtime_pod(const ManifestRequest& request, bool works) {
  Yaml::Map container = {{"name", "node"},
                         {"image", request.image},
                         {"securityContext", yaml_map({{"runAsUser", 1000}})}};
  if (works) {
    container.emplace_back("command", yaml_list({"/usr/sbin/sshd"}));
    container.emplace_back("args", yaml_list({"-De", "-f", "/home/mpiuser/.sshd_config"}));
    container.emplace_back("readinessProbe", yaml_map({{"tcpSocket", yaml_map({{"port", 2222}})},
                                                       {"initialDelaySeconds", 1},
                                                       {"periodSeconds", 1}}));
  }
  return {{"securityContext", yaml_map({{"fsGroup", 1000}})},
          {"containers", yaml_list({container})}};
}

/// Returns the runtime, which all jobs of the cluster share: the generated manifest uses only the
/// image name of this one.
Yaml runtime(const ManifestRequest& request) {
  const auto job = [](Yaml::Map pod) {
    return yaml_map({{"template", yaml_map({{"spec", std::move(pod)}})}});
  };
  const Yaml node = yaml_map(
      {{"name", "node"}, {"template", yaml_map({{"spec", job(runtime_pod(request, true))}})}});
  const Yaml step = yaml_map({{"trainer.kubeflow.org/trainjob-ancestor-step", "trainer"}});
  const Yaml launcher =
      yaml_map({{"name", "launcher"},
                {"dependsOn", yaml_list({yaml_map({{"name", "node"}, {"status", "Ready"}})})},
                {"template", yaml_map({{"metadata", yaml_map({{"labels", step}})},
                                       {"spec", job(runtime_pod(request, false))}})}});
  const Yaml mpi = yaml_map({{"numProcPerNode", 1},
                             {"mpiImplementation", "OpenMPI"},
                             {"sshAuthMountPath", kKeys},
                             {"runLauncherAsNode", true}});
  const Yaml success =
      yaml_map({{"operator", "All"}, {"targetReplicatedJobs", yaml_list({"launcher"})}});
  const Yaml set = yaml_map({{"network", yaml_map({{"publishNotReadyAddresses", true}})},
                             {"failurePolicy", yaml_map({{"maxRestarts", 3}})},
                             {"successPolicy", success},
                             {"replicatedJobs", yaml_list({node, launcher})}});
  const Yaml labels = yaml_map({{"trainer.kubeflow.org/framework", "deepspeed"}});
  return yaml_map({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                   {"kind", "ClusterTrainingRuntime"},
                   {"metadata", yaml_map({{"name", kRuntime}, {"labels", labels}})},
                   {"spec", yaml_map({{"mlPolicy", yaml_map({{"numNodes", 1}, {"mpi", mpi}})},
                                      {"template", yaml_map({{"spec", set}})}})}});
}

/// Returns patches with the volumes and the grace period for the named jobs of the runtime.
Yaml patches(const ManifestRequest& request, const std::vector<std::string>& jobs) {
  Yaml::List list;
  for (const std::string& job : jobs) {
    const Yaml container = yaml_map({{"name", "node"}, {"volumeMounts", volume_mounts(request)}});
    const Yaml pod = yaml_map({{"terminationGracePeriodSeconds", request.leave_seconds},
                               {"volumes", volumes(request)},
                               {"containers", yaml_list({container})}});
    const Yaml pods = yaml_map({{"spec", yaml_map({{"template", yaml_map({{"spec", pod}})}})}});
    list.push_back(yaml_map({{"name", job}, {"template", pods}}));
  }
  const Yaml set = yaml_map({{"spec", yaml_map({{"replicatedJobs", list}})}});
  return yaml_list({yaml_map({{"manager", "dslaunch.io/manifest"},
                              {"trainingRuntimeSpec", yaml_map({{"template", set}})}})});
}

Yaml train_job(const ManifestRequest& request, const char* runtime_name, Yaml::Map trainer,
               const std::vector<std::string>& jobs) {
  if (Yaml::Map wanted = resources(request); !wanted.empty())
    trainer.emplace_back("resourcesPerNode", std::move(wanted));
  return yaml_map({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                   {"kind", "TrainJob"},
                   {"metadata", metadata(request, request.name)},
                   {"spec", yaml_map({{"runtimeRef", yaml_map({{"name", runtime_name}})},
                                      {"trainer", std::move(trainer)},
                                      {"runtimePatches", patches(request, jobs)}})}});
}

std::vector<Yaml> trainjob(const ManifestRequest& request) {
  Yaml::List env;
  add_requested_variables(request, env);
  Yaml::Map trainer = {{"image", request.image},
                       {"command", container_words(launcher_command(request))},
                       {"numNodes", request.nodes},
                       {"numProcPerNode", request.slots}};
  if (!env.empty()) trainer.emplace_back("env", env);
  return {runtime(request), train_job(request, kRuntime, std::move(trainer), {"node", "launcher"})};
}

/// Returns the command of a pod, which starts the ranks of its own node. The job key proves their
/// connections.
std::vector<std::string> torchrun_command(const ManifestRequest& request) {
  std::vector<std::string> words = {"torchrun"};
  if (request.max_restarts)
    words.push_back(fmt::format("--max-restarts={}", *request.max_restarts));
  words.insert(words.end(), request.options.begin(), request.options.end());
  if (!request.command.empty()) words.emplace_back("--no-python");
  const std::vector<std::string> job = job_words(request);
  words.insert(words.end(), job.begin() + (request.command.empty() ? 0 : 1), job.end());
  return words;
}

std::vector<Yaml> trainjob_torch(const ManifestRequest& request) {
  Yaml::List env;
  if (request.command.empty()) env.push_back(secret_variable(request, "DSLAUNCH_JOB_KEY"));
  add_requested_variables(request, env);
  Yaml::Map trainer = {{"image", request.image},
                       {"command", container_words(torchrun_command(request))},
                       {"numNodes", request.nodes},
                       {"numProcPerNode", request.slots}};
  if (!env.empty()) trainer.emplace_back("env", env);
  return {train_job(request, "torch-distributed", std::move(trainer), {"node"})};
}

}  // namespace

std::vector<Yaml> operator_kind(const ManifestRequest& request) {
  switch (request.kind) {
    case ManifestKind::mpijob:
      return mpijob(request);
    case ManifestKind::trainjob:
      return trainjob(request);
    case ManifestKind::trainjob_torch:
      return trainjob_torch(request);
    case ManifestKind::etjob:
      return etjob(request);
    default:
      return {};
  }
}

}  // namespace ds::launcher
