// Manifests of kinds whose operator names the hosts: over ssh with the operator's keys, or by
// torchrun's variables (Trainer's torch runtime).
#include <fmt/format.h>

#include "launcher/manifest/pod.h"

namespace ds::launcher {
namespace {

using List = Yaml::List;

// Names of runtimes, which all jobs of a cluster share.
constexpr const char* kSshRuntime = "dslaunch-distributed";
constexpr const char* kTorchRuntime = "dslaunch-torch";
constexpr const char* kTorchRootRuntime = "dslaunch-torch-root";
// mpi-operator has no policy for exit codes: this is how often a wrong configuration is tried again
// (half a minute), and how often a launcher may be lost.
constexpr int kMpiRetries = 3;
constexpr const char* kTrainerApi = "trainer.kubeflow.org/v1alpha1";

void add_sshd(Yaml::Map& container) {
  container.emplace_back("command", List{"/usr/sbin/sshd"});
  container.emplace_back("args", List{"-De", "-f", "/home/mpiuser/.sshd_config"});
}

/// Returns the resources of a launcher, which runs no ranks: a ResourceQuota refuses pods without.
Yaml launcher_resources() {
  return {{"requests", {{"cpu", "100m"}, {"memory", "128Mi"}}},
          {"limits", {{"cpu", 1}, {"memory", "1Gi"}}}};
}

/// Returns a pod template with one container: a launcher with this command, or a worker, whose sshd
/// as root is the operator's own.
Yaml ssh_pod(const ManifestRequest& request, const std::string& container_name,
             const std::vector<std::string>& command) {
  Yaml::Map container = {{"name", container_name}, {"image", request.image}};
  if (!command.empty()) {
    container.emplace_back("command", container_words(command));
    add_variables(request, {}, container);
    container.emplace_back("resources", launcher_resources());
  } else {
    if (!request.as_root) add_sshd(container);
    add_resources(request, "resources", container);
  }
  container.emplace_back("volumeMounts", volume_mounts(request));
  container.emplace_back("terminationMessagePolicy", "FallbackToLogsOnError");
  add_container_security(request, container);
  Yaml::Map pod = {{"terminationGracePeriodSeconds", request.leave_seconds}};
  add_pod_security(request, pod);
  pod.emplace_back("containers", List{container});
  pod.emplace_back("volumes", volumes(request));
  return pod_template(request, std::move(pod));
}

/// Returns the Job of a runtime whose pods run `container`, named `node`: Trainer mounts keys and
/// hostfile only there. `ends`: it runs the command of a TrainJob, and ends with it.
Yaml runtime_job(ManifestRequest request, Yaml::Map container, bool ends) {
  request.read_only = false;  // of one job, not of the runtime
  container.emplace(container.begin(), "name", "node");
  container.emplace_back("terminationMessagePolicy", "FallbackToLogsOnError");
  add_container_security(request, container);
  Yaml::Map pod;
  Yaml::Map job;
  Yaml::Map replicated;
  if (ends) {
    const Yaml step = {{"trainer.kubeflow.org/trainjob-ancestor-step", "trainer"}};
    replicated.emplace_back("metadata", Yaml{{"labels", step}});
    job = restart_policies();
    pod.emplace_back(kNeverRestart);
  }
  add_pod_security(request, pod);
  pod.emplace_back("containers", List{container});
  job.emplace_back("template", Yaml{{"spec", pod}});
  replicated.emplace_back("spec", job);
  return replicated;
}

Yaml runtime(const char* name, const char* framework, Yaml policy, Yaml set) {
  return {{"apiVersion", kTrainerApi},
          {"kind", "ClusterTrainingRuntime"},
          {"metadata",
           {{"name", name}, {"labels", {{"trainer.kubeflow.org/framework", framework}}}}},
          {"spec", {{"mlPolicy", std::move(policy)}, {"template", {{"spec", std::move(set)}}}}}};
}

/// Returns the runtime with a launcher and sshd in the nodes. A generated manifest uses only the
/// image of this one.
Yaml ssh_runtime(const ManifestRequest& request) {
  Yaml::Map sshd = {{"image", request.image}};
  add_sshd(sshd);
  const Yaml probe = {
      {"tcpSocket", {{"port", 2222}}}, {"initialDelaySeconds", 1}, {"periodSeconds", 1}};
  sshd.emplace_back("readinessProbe", probe);
  const Yaml node = {{"name", "node"}, {"template", runtime_job(request, sshd, false)}};
  const Yaml launcher = {{"name", "launcher"},
                         {"dependsOn", List{Yaml{{"name", "node"}, {"status", "Ready"}}}},
                         {"template", runtime_job(request, {}, true)}};
  const Yaml mpi = {{"numProcPerNode", 1},
                    {"mpiImplementation", "OpenMPI"},
                    {"sshAuthMountPath", "/home/mpiuser/.ssh"},
                    {"runLauncherAsNode", true}};
  const Yaml success = {{"operator", "All"}, {"targetReplicatedJobs", List{"launcher"}}};
  return runtime(kSshRuntime, "deepspeed", {{"numNodes", 1}, {"mpi", mpi}},
                 {{"network", {{"publishNotReadyAddresses", true}}},
                  {"failurePolicy", set_failure_policy()},
                  {"successPolicy", success},
                  {"replicatedJobs", List{node, launcher}}});
}

/// Returns the runtime whose pods all run torchrun. Trainer's own one tries every exit code again.
Yaml torch_runtime(const ManifestRequest& request) {
  const Yaml node = {{"name", "node"}, {"template", runtime_job(request, {}, true)}};
  return runtime(request.as_root ? kTorchRootRuntime : kTorchRuntime, "torch",
                 {{"numNodes", 1}, {"torch", Yaml::Map{}}},
                 {{"network", {{"publishNotReadyAddresses", true}}},
                  {"failurePolicy", set_failure_policy()},
                  {"replicatedJobs", List{node}}});
}

/// Returns patches with the volumes, the grace period and the security context for the named jobs
/// of the runtime.
Yaml patches(const ManifestRequest& request, const std::vector<std::string>& jobs) {
  Yaml::Map container = {{"name", "node"}, {"volumeMounts", volume_mounts(request)}};
  add_container_security(request, container);
  Yaml::Map pod = {{"terminationGracePeriodSeconds", request.leave_seconds}};
  add_pod_security(request, pod);
  pod.emplace_back("volumes", volumes(request));
  pod.emplace_back("containers", List{container});
  const Yaml pods = {{"spec", {{"template", pod_template(request, std::move(pod))}}}};
  List list;
  for (const std::string& job : jobs) list.push_back({{"name", job}, {"template", pods}});
  const Yaml set = {{"spec", {{"replicatedJobs", list}}}};
  return List{
      Yaml{{"manager", "dslaunch.io/manifest"}, {"trainingRuntimeSpec", {{"template", set}}}}};
}

/// Returns a TrainJob whose nodes have these variables besides those of -x.
Yaml train_job(const ManifestRequest& request, const char* runtime_name,
               const std::vector<std::string>& command, List env,
               const std::vector<std::string>& jobs) {
  Yaml::Map trainer = {{"image", request.image},
                       {"command", container_words(command)},
                       {"numNodes", request.nodes},
                       {"numProcPerNode", request.slots}};
  add_variables(request, std::move(env), trainer);
  add_resources(request, "resourcesPerNode", trainer);
  return object(request, kTrainerApi, "TrainJob",
                {{"runtimeRef", {{"name", runtime_name}}},
                 {"trainer", trainer},
                 {"runtimePatches", patches(request, jobs)}});
}

/// Returns the command of a pod, which starts the ranks of its own node. The job key proves their
/// connections.
std::vector<std::string> torchrun_command(const ManifestRequest& request) {
  std::vector<std::string> words = {"torchrun"};
  if (request.max_restarts)
    words.push_back(fmt::format("--max-restarts={}", *request.max_restarts));
  words.push_back(fmt::format("--shutdown-timeout={}", grace_seconds(request)));
  words.insert(words.end(), request.options.begin(), request.options.end());
  if (!request.command.empty()) words.emplace_back("--no-python");
  const std::vector<std::string> job = job_words(request);
  words.insert(words.end(), job.begin() + (request.command.empty() ? 0 : 1), job.end());
  return words;
}

}  // namespace

std::vector<Yaml> mpijob(const ManifestRequest& request) {
  const Yaml launcher = {{"restartPolicy", "OnFailure"},
                         {"template", ssh_pod(request, "launcher", launcher_command(request))}};
  // Never, the default: mpi-operator does not replace a worker that has failed.
  const Yaml worker = {{"replicas", request.nodes},
                       {"restartPolicy", "OnFailure"},
                       {"template", ssh_pod(request, "worker", {})}};
  return {object(request, "kubeflow.org/v2beta1", "MPIJob",
                 {{"slotsPerWorker", request.slots},
                  {"mpiImplementation", "OpenMPI"},
                  {"sshAuthMountPath", request.as_root ? "/root/.ssh" : "/home/mpiuser/.ssh"},
                  {"runPolicy", {{"cleanPodPolicy", "Running"}, {"backoffLimit", kMpiRetries}}},
                  {"mpiReplicaSpecs", {{"Launcher", launcher}, {"Worker", worker}}}})};
}

std::vector<Yaml> etjob(const ManifestRequest& request) {
  const Yaml launcher = {{"replicas", 1},
                         {"template", ssh_pod(request, "et", launcher_command(request))}};
  const Yaml worker = {{"replicas", request.nodes},
                       {"minReplicas", request.nodes},
                       {"maxReplicas", request.nodes},
                       {"template", ssh_pod(request, "et", {})}};
  return {object(request, "kai.alibabacloud.com/v1alpha1", "TrainingJob",
                 {{"cleanPodPolicy", "Running"},
                  {"launcherAttachMode", "ssh"},
                  {"slotsPerWorker", request.slots},
                  {"backoffLimit", 6},
                  {"etReplicaSpecs", {{"launcher", launcher}, {"worker", worker}}}})};
}

std::vector<Yaml> trainjob(const ManifestRequest& request) {
  return {ssh_runtime(request),
          train_job(request, kSshRuntime, launcher_command(request), {}, {"node", "launcher"})};
}

std::vector<Yaml> trainjob_torch(const ManifestRequest& request) {
  List env;
  if (request.command.empty()) env.push_back(secret_variable(request, "DSLAUNCH_JOB_KEY"));
  return {torch_runtime(request),
          train_job(request, request.as_root ? kTorchRootRuntime : kTorchRuntime,
                    torchrun_command(request), env, {"node"})};
}

}  // namespace ds::launcher
