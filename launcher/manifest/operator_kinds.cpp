// Kinds whose operator says which hosts there are: over ssh with the keys that it mounts, or, of
// Trainer's torch runtime, by torchrun's variables.
#include <fmt/format.h>

#include "launcher/manifest/pod.h"

namespace ds::launcher {
namespace {

constexpr const char* kRuntime = "dslaunch-distributed";
constexpr const char* kKeys = "/home/mpiuser/.ssh";

/// One container; `command` empty: the operator's own, which is sshd.
Yaml::Map ssh_pod(const ManifestWish& wish, const std::string& container_name,
                  const std::vector<std::string>& command, bool works) {
  Yaml::List env;
  Yaml::Map container = {{"name", container_name}, {"image", wish.image}};
  if (!command.empty()) {
    container.emplace_back("command", container_words(command));
    add_wished_variables(wish, env);
  }
  if (!env.empty()) container.emplace_back("env", env);
  if (Yaml::Map wanted = resources(wish); works && !wanted.empty())
    container.emplace_back("resources", std::move(wanted));
  container.emplace_back("volumeMounts", volume_mounts(wish));
  container.emplace_back("terminationMessagePolicy", "FallbackToLogsOnError");
  return {{"terminationGracePeriodSeconds", wish.leave_seconds},
          {"containers", yaml_list({container})},
          {"volumes", volumes(wish)}};
}

Yaml pod_template(Yaml::Map pod) { return yaml_map({{"spec", std::move(pod)}}); }

std::vector<Yaml> mpijob(const ManifestWish& wish) {
  const Yaml launcher = yaml_map(
      {{"restartPolicy", "OnFailure"},
       {"template", pod_template(ssh_pod(wish, "launcher", launcher_command(wish), false))}});
  const Yaml worker = yaml_map(
      {{"replicas", wish.nodes}, {"template", pod_template(ssh_pod(wish, "worker", {}, true))}});
  return {yaml_map(
      {{"apiVersion", "kubeflow.org/v2beta1"},
       {"kind", "MPIJob"},
       {"metadata", metadata(wish, wish.name)},
       {"spec",
        yaml_map({{"slotsPerWorker", wish.slots},
                  {"mpiImplementation", "OpenMPI"},
                  {"sshAuthMountPath", "/root/.ssh"},
                  {"runPolicy", yaml_map({{"cleanPodPolicy", "Running"}, {"backoffLimit", 6}})},
                  {"mpiReplicaSpecs", yaml_map({{"Launcher", launcher}, {"Worker", worker}})}})}})};
}

std::vector<Yaml> etjob(const ManifestWish& wish) {
  const Yaml launcher =
      yaml_map({{"replicas", 1},
                {"template", pod_template(ssh_pod(wish, "et", launcher_command(wish), false))}});
  const Yaml worker = yaml_map({{"replicas", wish.nodes},
                                {"minReplicas", wish.nodes},
                                {"maxReplicas", wish.nodes},
                                {"template", pod_template(ssh_pod(wish, "et", {}, true))}});
  return {yaml_map(
      {{"apiVersion", "kai.alibabacloud.com/v1alpha1"},
       {"kind", "TrainingJob"},
       {"metadata", metadata(wish, wish.name)},
       {"spec",
        yaml_map({{"cleanPodPolicy", "Running"},
                  {"launcherAttachMode", "ssh"},
                  {"slotsPerWorker", wish.slots},
                  {"backoffLimit", 6},
                  {"etReplicaSpecs", yaml_map({{"launcher", launcher}, {"worker", worker}})}})}})};
}

/// A container of the runtime: Trainer mounts the keys and the hostfile in those named `node`.
Yaml::Map runtime_pod(const ManifestWish& wish, bool works) {
  Yaml::Map container = {{"name", "node"},
                         {"image", wish.image},
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

/// For every job of the cluster: nothing of this one is in it but the image.
Yaml runtime(const ManifestWish& wish) {
  const auto job = [](Yaml::Map pod) {
    return yaml_map({{"template", yaml_map({{"spec", std::move(pod)}})}});
  };
  const Yaml node = yaml_map(
      {{"name", "node"}, {"template", yaml_map({{"spec", job(runtime_pod(wish, true))}})}});
  const Yaml step = yaml_map({{"trainer.kubeflow.org/trainjob-ancestor-step", "trainer"}});
  const Yaml launcher =
      yaml_map({{"name", "launcher"},
                {"dependsOn", yaml_list({yaml_map({{"name", "node"}, {"status", "Ready"}})})},
                {"template", yaml_map({{"metadata", yaml_map({{"labels", step}})},
                                       {"spec", job(runtime_pod(wish, false))}})}});
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

/// Volumes and the time to leave, for the jobs of the runtime that are named.
Yaml patches(const ManifestWish& wish, const std::vector<std::string>& jobs) {
  Yaml::List list;
  for (const std::string& job : jobs) {
    const Yaml container = yaml_map({{"name", "node"}, {"volumeMounts", volume_mounts(wish)}});
    const Yaml pod = yaml_map({{"terminationGracePeriodSeconds", wish.leave_seconds},
                               {"volumes", volumes(wish)},
                               {"containers", yaml_list({container})}});
    const Yaml pods = yaml_map({{"spec", yaml_map({{"template", yaml_map({{"spec", pod}})}})}});
    list.push_back(yaml_map({{"name", job}, {"template", pods}}));
  }
  const Yaml set = yaml_map({{"spec", yaml_map({{"replicatedJobs", list}})}});
  return yaml_list({yaml_map({{"manager", "dslaunch.io/manifest"},
                              {"trainingRuntimeSpec", yaml_map({{"template", set}})}})});
}

Yaml train_job(const ManifestWish& wish, const char* runtime_name, Yaml::Map trainer,
               const std::vector<std::string>& jobs) {
  if (Yaml::Map wanted = resources(wish); !wanted.empty())
    trainer.emplace_back("resourcesPerNode", std::move(wanted));
  return yaml_map({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                   {"kind", "TrainJob"},
                   {"metadata", metadata(wish, wish.name)},
                   {"spec", yaml_map({{"runtimeRef", yaml_map({{"name", runtime_name}})},
                                      {"trainer", std::move(trainer)},
                                      {"runtimePatches", patches(wish, jobs)}})}});
}

std::vector<Yaml> trainjob(const ManifestWish& wish) {
  Yaml::List env;
  add_wished_variables(wish, env);
  Yaml::Map trainer = {{"image", wish.image},
                       {"command", container_words(launcher_command(wish))},
                       {"numNodes", wish.nodes},
                       {"numProcPerNode", wish.slots}};
  if (!env.empty()) trainer.emplace_back("env", env);
  return {runtime(wish), train_job(wish, kRuntime, std::move(trainer), {"node", "launcher"})};
}

/// Every pod starts the ranks of its own node; what they say to each other is proven by the job
/// key.
std::vector<std::string> torchrun_command(const ManifestWish& wish) {
  std::vector<std::string> words = {"torchrun"};
  if (wish.max_restarts) words.push_back(fmt::format("--max-restarts={}", *wish.max_restarts));
  words.insert(words.end(), wish.options.begin(), wish.options.end());
  if (!wish.command.empty()) words.emplace_back("--no-python");
  const std::vector<std::string> job = job_words(wish);
  words.insert(words.end(), job.begin() + (wish.command.empty() ? 0 : 1), job.end());
  return words;
}

std::vector<Yaml> trainjob_torch(const ManifestWish& wish) {
  Yaml::List env;
  if (wish.command.empty()) env.push_back(secret_variable(wish, "DSLAUNCH_JOB_KEY"));
  add_wished_variables(wish, env);
  Yaml::Map trainer = {{"image", wish.image},
                       {"command", container_words(torchrun_command(wish))},
                       {"numNodes", wish.nodes},
                       {"numProcPerNode", wish.slots}};
  if (!env.empty()) trainer.emplace_back("env", env);
  return {train_job(wish, "torch-distributed", std::move(trainer), {"node"})};
}

}  // namespace

std::vector<Yaml> operator_kind(const ManifestWish& wish) {
  switch (wish.kind) {
    case ManifestKind::mpijob:
      return mpijob(wish);
    case ManifestKind::trainjob:
      return trainjob(wish);
    case ManifestKind::trainjob_torch:
      return trainjob_torch(wish);
    case ManifestKind::etjob:
      return etjob(wish);
    default:
      return {};
  }
}

}  // namespace ds::launcher
