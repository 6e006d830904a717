// Tests of forwarded variables: given values, values from the environment, unset names, policies,
// and hidden values.
#include "launcher/cli/forward_env.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "launcher/cli/env_file.h"

using namespace ds::launcher;

namespace {

const EnvList kOwn = {{"B", "from here"}, {"NCCL_A", "1"}, {"EMPTY", ""},
                      {"NCCL_B", "2"},    {"RANK", "7"},   {"NCCL_%", "x"}};

EnvList pairs(const std::vector<EnvForward>& forwards) {
  return without_sources(resolve_forwards(forwards, kOwn));
}

/// Returns the words as other users see them.
std::string blanked(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  blank_values(static_cast<int>(argv.size()), argv.data());
  std::string text;
  for (const char* word : argv) text += std::string(text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

TEST_CASE("values are taken from the command line, or else from the environment") {
  CHECK(pairs({{"A", "1"}, {"B", std::nullopt}, {"EMPTY", std::nullopt}, {"C", ""}}) ==
        EnvList{{"A", "1"}, {"B", "from here"}, {"EMPTY", ""}, {"C", ""}});
  try {
    pairs({{"GONE", std::nullopt}});
    FAIL("no error");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    CHECK(error.for_people() ==
          "-x GONE: GONE is not set in this environment\n  hint: write -x GONE=value, or export it "
          "first");
  }
}

TEST_CASE("a pattern gives all that begin so, and what is named wins over it") {
  CHECK(pairs({{"NCCL_*", std::nullopt}}) == EnvList{{"NCCL_A", "1"}, {"NCCL_B", "2"}});
  CHECK(pairs({{"NCCL_*", std::nullopt}, {"NCCL_A", "9"}}) ==
        EnvList{{"NCCL_A", "9"}, {"NCCL_B", "2"}});
  CHECK(pairs({{"R*", std::nullopt}, {"ZZZ*", std::nullopt}}).empty());
}

TEST_CASE("a pattern leaves out devices of this machine and what operators blank") {
  const EnvList own = {{"NVIDIA_VISIBLE_DEVICES", ""}, {"NVIDIA_X", "1"}};
  const auto given = resolve_forwards({{"NVIDIA_*", std::nullopt}}, own);
  CHECK(without_sources(given) == EnvList{{"NVIDIA_X", "1"}});
  const auto named = resolve_forwards({{"NVIDIA_VISIBLE_DEVICES", std::nullopt}}, own);
  CHECK(without_sources(named) == EnvList{{"NVIDIA_VISIBLE_DEVICES", ""}});
}

TEST_CASE("parameters of Open MPI go to the ranks by a pattern, but not those of its launcher") {
  const EnvList own = {{"OMPI_MCA_btl", "tcp,self"},
                       {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"},
                       {"OMPI_MCA_plm_rsh_args", "-v"},
                       {"OMPI_MCA_initial_wdir", "/tmp"},
                       {"OMPI_MCA_ess", "^singleton"}};
  const auto given = resolve_forwards({{"OMPI_MCA_*", std::nullopt}}, own);
  REQUIRE(given.size() == 1);
  CHECK(given[0].name == "OMPI_MCA_btl");
  CHECK(resolve_forwards({{"OMPI_MCA_plm_rsh_args", std::nullopt}}, own).size() == 1);
}

TEST_CASE("what travels to other nodes") {
  for (const char* name :
       {"NCCL_DEBUG", "PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "HF_TOKEN", "DSLAUNCH_CUDNN",
        "DSLAUNCH_CUDA_PLUGIN", "DSLAUNCH_PARQUET_PLUGIN", "DSLAUNCH_PMIX_LIBRARY"})
    CHECK_MESSAGE(travels(name, EnvPolicy::allow), name);
  for (const char* name :
       {"SECRET", "HOME", "CUDA_VISIBLE_DEVICES", "MY_VARIABLE", "PATHS", "DSLAUNCH_RUNTIME_DIR"})
    CHECK_FALSE_MESSAGE(travels(name, EnvPolicy::allow), name);
  for (const char* name : {"SECRET", "MY_VARIABLE", "LANG", "NCCL_DEBUG"})
    CHECK_MESSAGE(travels(name, EnvPolicy::all), name);
  for (const char* name : {"HOME", "PWD", "SSH_AUTH_SOCK", "DISPLAY", "CUDA_VISIBLE_DEVICES",
                           "RANK", "MASTER_ADDR", "DSLAUNCH_JOB_KEY", "OMPI_COMM_WORLD_RANK",
                           "SLURM_PROCID", "TORCHELASTIC_RUN_ID", "TMUX", "XDG_RUNTIME_DIR"})
    CHECK_FALSE_MESSAGE(travels(name, EnvPolicy::all), name);
  // Variables that operators, schedulers and other launchers set, or empty, for one pod or process.
  for (const char* name : {"NVIDIA_VISIBLE_DEVICES",
                           "NVIDIA_DRIVER_CAPABILITIES",
                           "K_MPI_JOB_ROLE",
                           "HOSTNAME",
                           "POD_NAME",
                           "POD_IP",
                           "KUBERNETES_SERVICE_HOST",
                           "KUBERNETES_PORT_443_TCP_ADDR",
                           "GPT_SERVICE_HOST",
                           "GPT_SERVICE_PORT",
                           "GPT_SERVICE_PORT_SSH",
                           "GPT_PORT_2222_TCP",
                           "JOB_COMPLETION_INDEX",
                           "JOBSET_NAME",
                           "LWS_WORKER_INDEX",
                           "VC_TASK_INDEX",
                           "VC_WORKER_HOSTS",
                           "VK_TASK_INDEX",
                           "PET_NODE_RANK",
                           "MPI_HOST",
                           "DLTS_HOSTFILE",
                           "OMPI_MCA_orte_default_hostfile",
                           "PRTE_MCA_prte_default_hostfile",
                           "HYDRA_HOST_FILE",
                           "I_MPI_HYDRA_HOST_FILE",
                           "PMI_RANK",
                           "PMIX_NAMESPACE",
                           "MV2_COMM_WORLD_RANK",
                           "SLURM_PROCID",
                           "SLURMD_NODENAME",
                           "SRUN_CPUS_PER_TASK",
                           "DSLAUNCH_TOKEN",
                           "DSLAUNCH_TOKEN_FILE"}) {
    CHECK_FALSE_MESSAGE(travels(name, EnvPolicy::allow), name);
    CHECK_FALSE_MESSAGE(travels(name, EnvPolicy::all), name);
  }
  for (const char* name : {"FI_PROVIDER", "UCX_TLS", "HF_TOKEN", "MLFLOW_TRACKING_URI"})
    CHECK_MESSAGE(travels(name, EnvPolicy::allow), name);
  for (const char* name : {"MY_PORT", "SERVICE_HOST_LIST", "PODS", "LWSX", "I_MPI_FABRICS"})
    CHECK_MESSAGE(travels(name, EnvPolicy::all), name);
  CHECK_FALSE(travels("NCCL_DEBUG", EnvPolicy::none));
  CHECK(travelling({{"A", "1"}, {"NCCL_A", "2"}}, EnvPolicy::allow) == EnvList{{"NCCL_A", "2"}});
  CHECK(login_variables({{"HOME", "/h"}, {"A", "1"}, {"LC_ALL", "C"}, {"PATH", "/b"}}) ==
        EnvList{{"HOME", "/h"}, {"LC_ALL", "C"}, {"PATH", "/b"}});
}

TEST_CASE("values on our command line are blanked, those of the program are not ours") {
  CHECK(blanked({"dslaunch", "-x", "A=secret", "-xB=s", "-x", "C", "--", "p", "-x", "D=1"}) ==
        "dslaunch -x A=*** -xB=* -x C -- p -x D=1");
  CHECK(blanked({"dslaunch", "--", "p", ":", "-x", "A=1", "--", "q", "-x", "B=2"}) ==
        "dslaunch -- p : -x A=* -- q -x B=2");
  CHECK(blanked({"dslaunch", "-x"}) == "dslaunch -x");
  CHECK(blanked({"dslaunch", "--ssh-config", "-xy", "-x", "A=", "t.toml", "k=v"}) ==
        "dslaunch --ssh-config -xy -x A= t.toml k=v");
}

TEST_CASE("blanking leaves the words where they are") {
  std::string words[] = {"dslaunch", "-x", "TOKEN=abcdef", "-xB=12", "--", "-x", "C=1"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  blank_values(static_cast<int>(argv.size()), argv.data());
  CHECK(words[2] == std::string("TOKEN=***\0\0\0", 12));
  CHECK(words[3] == "-xB=**");
  CHECK(words[6] == "C=1");
}

TEST_CASE("secrets are told by their names, or as the user says") {
  for (const char* name : {"HF_TOKEN", "aws_secret_access_key", "DB_PASSWORD", "OPENAI_API_KEY"})
    CHECK_MESSAGE(is_redacted(name, {}), name);
  for (const char* name : {"NCCL_DEBUG", "KEYBOARD", "PATH"})
    CHECK_FALSE_MESSAGE(is_redacted(name, {}), name);
  CHECK(is_redacted("MY_PATH", {"X*", "MY_*"}));
  CHECK_FALSE(is_redacted("NOT_MY_PATH", {"MY_*"}));
}

TEST_CASE("the table of --dry-run=env says who gave what, and no secrets") {
  CHECK(env_table({{"A", "1\n2", "-x"}, {"HF_TOKEN", "hf", "./e:3"}}, {{"PATH", "/bin"}}, {}) ==
        "variables set for every rank:\n"
        "  A=1?2                                             -x\n"
        "  HF_TOKEN=***                                      ./e:3\n"
        "variables forwarded to other nodes:\n"
        "  PATH=/bin\n");
  CHECK(env_table({}, {}, {}) ==
        "no variables are set for every rank\nno variables are forwarded to other nodes\n");
}

TEST_CASE("this process's environment") {
  CHECK(own_variable("PATH"));
  CHECK_FALSE(own_variable("DSLAUNCH_NO_SUCH_VARIABLE"));
  bool found = false;
  for (const auto& [name, value] : own_variables())
    found = found || (name == "PATH" && value == own_variable("PATH"));
  CHECK(found);
}
