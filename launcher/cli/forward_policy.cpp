// Tables of variable names: allowed, device choices, orchestrators' variables, machine-local ones.
#include "launcher/cli/forward_policy.h"

#include <algorithm>
#include <array>

#include "launcher/cli/env_file.h"

namespace ds::launcher {

namespace {

/// Returns whether `name` is in `entries`. An entry that ends in '*' matches any name with that
/// prefix.
template <std::size_t N>
bool matches(std::string_view name, const std::array<std::string_view, N>& entries) {
  return std::any_of(entries.begin(), entries.end(), [name](std::string_view entry) {
    if (!entry.ends_with('*')) return name == entry;
    entry.remove_suffix(1);
    return name.starts_with(entry);
  });
}

// Variables that configure such jobs. Paths are among them: without them the same command would
// find other programs on the nodes.
constexpr std::array<std::string_view, 24> kAllowed = {
    "PATH",    "LD_LIBRARY_PATH", "VIRTUAL_ENV",    "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
    "PYTHON*", "CUDA_*",          "NCCL_*",         "UCX_*",        "FI_*",
    "GLOO_*",  "TORCH_*",         "OMP_*",          "KMP_*",        "MKL_*",
    "DNNL_*",  "ONEDNN_*",        "HF_*",           "MLFLOW_*",     "MV2_*",
    "WANDB_*", "TRITON_*",        "TRANSFORMERS_*", "TOKENIZERS_*"};

// Devices of this machine, which differ on other nodes. Operators set NVIDIA's two variables to
// empty on a launcher pod so that it takes no device.
constexpr std::array<std::string_view, 6> kDevices = {
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",     "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"};

// Variables that orchestrators and other launchers set for one pod or process: its index, its
// peers, the files of its own launcher.
constexpr std::array<std::string_view, 27> kPlaces = {
    "K_MPI_JOB_ROLE", "POD_*",      "KUBERNETES_*",  "JOB_COMPLETION_INDEX",
    "JOBSET_*",       "LWS_*",      "VC_*",          "VK_*",
    "PET_*",          "KUBEFLOW_*", "MPI_HOST",      "DLTS_HOSTFILE",
    "NODE_NUM",       "DLROVER_*",  "SLURM*",        "SRUN_*",
    "SBATCH_*",       "SALLOC_*",   "PMI*",          "PALS_*",
    "OMPI_*",         "PRTE_*",     "ORTE_*",        "I_MPI_HYDRA_*",
    "I_MPI_PERHOST",  "HYDRA_*",    "TORCHELASTIC_*"};

/// Returns whether `name` is a Service variable that Kubernetes sets in every pod:
/// GPT_SERVICE_HOST, GPT_PORT, GPT_PORT_29400_TCP_ADDR.
bool is_service_link(std::string_view name) {
  return name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT") ||
         name.find("_SERVICE_PORT_") != std::string_view::npos ||
         (name.find("_PORT_") != std::string_view::npos &&
          (name.find("_TCP") != std::string_view::npos ||
           name.find("_UDP") != std::string_view::npos));
}

// Variables that describe this machine, this session, this login or another launcher's job.
constexpr std::array<std::string_view, 29> kHereOnly = {"HOSTNAME",
                                                        "HOST",
                                                        "HOSTTYPE",
                                                        "PWD",
                                                        "OLDPWD",
                                                        "SHLVL",
                                                        "_",
                                                        "HOME",
                                                        "USER",
                                                        "LOGNAME",
                                                        "MAIL",
                                                        "SHELL",
                                                        "TERM",
                                                        "TMPDIR",
                                                        "DISPLAY",
                                                        "XAUTHORITY",
                                                        "WAYLAND_DISPLAY",
                                                        "XDG_*",
                                                        "DBUS_*",
                                                        "SSH_*",
                                                        "SUDO_*",
                                                        "STY",
                                                        "TMUX*",
                                                        "WINDOWID",
                                                        "COLUMNS",
                                                        "LINES",
                                                        "INVOCATION_ID",
                                                        "JOURNAL_STREAM",
                                                        "FLUX_*"};

// Variables that a login sets.
constexpr std::array<std::string_view, 10> kLogin = {"PATH", "HOME", "USER",   "LOGNAME", "SHELL",
                                                     "LANG", "LC_*", "TMPDIR", "TZ",      "TERM"};

}  // namespace

bool is_device_choice(std::string_view name) { return matches(name, kDevices); }

bool travels(std::string_view name, EnvPolicy policy) {
  if (policy == EnvPolicy::none || matches(name, kDevices) || matches(name, kPlaces) ||
      is_reserved_variable(name))
    return false;
  if (policy == EnvPolicy::all) return !matches(name, kHereOnly) && !is_service_link(name);
  return matches(name, kAllowed) || is_runner_setting(name);
}

EnvList travelling(const EnvList& own, EnvPolicy policy) {
  EnvList sent;
  for (const auto& variable : own)
    if (travels(variable.first, policy)) sent.push_back(variable);
  return sent;
}

EnvList login_variables(const EnvList& own) {
  EnvList kept;
  for (const auto& variable : own)
    if (matches(variable.first, kLogin)) kept.push_back(variable);
  return kept;
}

}  // namespace ds::launcher
