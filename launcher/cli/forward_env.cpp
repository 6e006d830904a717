// Forwarded variables: tables of names by policy, files, -x patterns, and the text of
// --dry-run=env.
#include "launcher/cli/forward_env.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "launcher/cli/env_file.h"
#include "launcher/mpi/outer_job.h"

namespace ds::launcher {

namespace {

/// Returns whether `name` is in `entries`. An entry that ends in '*' matches any name with that
/// prefix.
bool matches(std::string_view name, std::span<const std::string_view> entries) {
  return std::ranges::any_of(entries, [name](std::string_view entry) {
    if (!entry.ends_with('*')) return name == entry;
    entry.remove_suffix(1);
    return name.starts_with(entry);
  });
}

// Variables that configure such jobs. Paths are among them: without them the same command would
// find other programs on the nodes.
constexpr std::string_view kAllowed[] = {
    "PATH",    "LD_LIBRARY_PATH", "VIRTUAL_ENV",    "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
    "PYTHON*", "CUDA_*",          "NCCL_*",         "UCX_*",        "FI_*",
    "GLOO_*",  "TORCH_*",         "OMP_*",          "KMP_*",        "MKL_*",
    "DNNL_*",  "ONEDNN_*",        "HF_*",           "MLFLOW_*",     "MV2_*",
    "WANDB_*", "TRITON_*",        "TRANSFORMERS_*", "TOKENIZERS_*"};

// Devices of this machine, which differ on other nodes. Operators set NVIDIA's two variables to
// empty on a launcher pod so that it takes no device. Such a variable is forwarded only by its full
// name, not by a pattern (`-x 'NVIDIA_*'`).
constexpr std::string_view kDevices[] = {"CUDA_VISIBLE_DEVICES",   "HIP_VISIBLE_DEVICES",
                                         "ROCR_VISIBLE_DEVICES",   "ZE_AFFINITY_MASK",
                                         "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"};

// Variables that orchestrators and other launchers set for one pod or process: its index, its
// peers, the files of its own launcher.
constexpr std::string_view kPlaces[] = {
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
constexpr std::string_view kHereOnly[] = {
    "HOSTNAME", "HOST",          "HOSTTYPE",       "PWD",
    "OLDPWD",   "SHLVL",         "HOME",           "USER",
    "LOGNAME",  "MAIL",          "SHELL",          "TERM",
    "TMPDIR",   "DISPLAY",       "XAUTHORITY",     "WAYLAND_DISPLAY",
    "XDG_*",    "DBUS_*",        "SSH_*",          "SUDO_*",
    "STY",      "TMUX*",         "WINDOWID",       "COLUMNS",
    "LINES",    "INVOCATION_ID", "JOURNAL_STREAM", "FLUX_*",
    "_"};

// Variables that a login sets.
constexpr std::string_view kLogin[] = {"PATH", "HOME", "USER",   "LOGNAME", "SHELL",
                                       "LANG", "LC_*", "TMPDIR", "TZ",      "TERM"};

constexpr const char* kDeepSpeedFile = ".deepspeed_env";

void add(std::vector<NamedValue>& all, NamedValue variable) {
  const auto known = std::ranges::find(all, variable.name, &NamedValue::name);
  if (known == all.end()) {
    all.push_back(std::move(variable));
  } else {
    *known = std::move(variable);
  }
}

/// Returns the default files in reading order. DeepSpeed looks for the name in the home folder,
/// then in the current folder.
std::vector<std::string> default_files(const EnvList& own) {
  std::string name = kDeepSpeedFile;
  std::string home;
  for (const auto& [key, value] : own) {
    if (key == "DS_ENV_FILE" && !value.empty()) name = value;
    if (key == "HOME") home = value;
  }
  if (name.starts_with('/')) return {name};
  std::vector<std::string> files;
  if (!home.empty()) files.push_back(home + "/" + name);
  files.push_back("./" + name);
  return files;
}

void warn_of_secrets(const EnvFile& file, const std::string& path,
                     const std::function<void(std::string)>& warn) {
  if (!file.read_by_all) return;
  const auto secret = std::ranges::find_if(file.variables, looks_secret, &NamedValue::name);
  if (secret != file.variables.end())
    warn(fmt::format("{} sets {} and every user can read it; run: chmod go-r {}", path,
                     secret->name, path));
}

std::string shown(const std::string& name, const std::string& value,
                  const std::vector<std::string>& redact) {
  std::string text = fmt::format("  {}={}", name, is_redacted(name, redact) ? kRedacted : value);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

/// Returns whether the variable is a parameter of Open MPI's own launcher.
bool is_set_for_mpirun(std::string_view name) {
  constexpr std::string_view kParameter = "OMPI_MCA_";
  return name.starts_with(kParameter) && is_parameter_of_mpirun(name.substr(kParameter.size()));
}

}  // namespace

bool travels(std::string_view name, EnvPolicy policy) {
  if (policy == EnvPolicy::none || matches(name, kDevices) || matches(name, kPlaces) ||
      is_place_in_mpi_job(name) || is_reserved_variable(name))
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

bool is_parameter_of_mpirun(std::string_view name) {
  constexpr std::string_view kFrameworks[] = {
      "orte_", "prte_",  "plm_",    "ras_",   "rmaps_", "odls_", "oob_",     "routed_",
      "rml_",  "state_", "errmgr_", "filem_", "ess_",   "iof_",  "grpcomm_", "schizo_"};
  return std::ranges::any_of(kFrameworks, [&](auto begin) { return name.starts_with(begin); });
}

std::vector<NamedValue> resolve_forwards(const std::vector<EnvForward>& forwards,
                                         const EnvList& own) {
  std::vector<NamedValue> variables;
  for (const EnvForward& forward : forwards) {
    if (forward.name.ends_with('*')) {
      const std::string prefix = forward.name.substr(0, forward.name.size() - 1);
      for (const auto& [name, value] : own)
        if (name.starts_with(prefix) && is_env_name(name) && !is_reserved_variable(name) &&
            !matches(name, kDevices) && !is_set_for_mpirun(name) && !is_place_in_mpi_job(name))
          add(variables, {name, value, "-x " + forward.name});
      continue;
    }
    const auto found = std::ranges::find(own, forward.name, &EnvList::value_type::first);
    if (!forward.value && found == own.end()) {
      throw Error(ErrorKind::usage,
                  fmt::format("-x {0}: {0} is not set in this environment", forward.name),
                  fmt::format("write -x {}=value, or export it first", forward.name));
    }
    add(variables, {forward.name, forward.value ? *forward.value : found->second, "-x"});
  }
  return variables;
}

std::vector<NamedValue> given_variables(const EnvOptions& options, const EnvList& own,
                                        const std::function<void(std::string)>& warn) {
  std::vector<NamedValue> all;
  const auto take = [&](EnvFile file, const std::string& path) {
    warn_of_secrets(file, path, warn);
    for (NamedValue& variable : file.variables) add(all, std::move(variable));
  };
  if (options.policy != EnvPolicy::none)
    for (const std::string& path : default_files(own)) take(load_default_env_file(path), path);
  for (const std::string& path : options.files) take(load_env_file(path), path);
  for (NamedValue& variable : resolve_forwards(options.forward, own)) add(all, std::move(variable));
  return all;
}

EnvList without_sources(const std::vector<NamedValue>& variables) {
  EnvList list;
  for (const NamedValue& variable : variables) list.emplace_back(variable.name, variable.value);
  return list;
}

EnvList own_variables() {
  EnvList variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string own_path() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    throw_errno("cannot read /proc/self/exe", error.value(), "check that /proc is mounted");
  return path;
}

std::string env_table(const std::vector<NamedValue>& given, const EnvList& sent,
                      const std::vector<std::string>& redact) {
  std::string text =
      given.empty() ? "no variables are set for every rank\n" : "variables set for every rank:\n";
  for (const NamedValue& variable : given)
    text +=
        fmt::format("{:<50}  {}\n", shown(variable.name, variable.value, redact), variable.source);
  text += sent.empty() ? "no variables are forwarded to other nodes\n"
                       : "variables forwarded to other nodes:\n";
  for (const auto& [name, value] : sent) text += shown(name, value, redact) + "\n";
  return text;
}

}  // namespace ds::launcher
