// `dslaunch k8s`: reads the options and the job's file, and prints the manifest, runs it or deletes
// its job.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/base/error.h"
#include "launcher/cli/option_table.h"
#include "launcher/cli/options.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/k8s_jobs.h"
#include "launcher/manifest/manifest.h"

namespace ds::launcher {
namespace {

constexpr int kMostNodes = 100'000, kMostSlots = 1024, kMostRestarts = 1'000'000;
constexpr int kShortestLeave = 10, kLongestLeave = 86'400;

struct Given : ManifestRequest {
  bool kind_given = false;
  bool gpu_given = false;
  bool makes_token = false;
  bool in_image = false;
  std::chrono::seconds wait{600};
};

using Def = OptionDef<Given>;

/// Stores a value that `check` accepts.
template <auto check, auto member>
void set_checked(Given& words, const GivenOption& given) {
  if constexpr (std::is_invocable_v<decltype(check), const std::string&>)
    check(given.value);
  else
    check(given.name, text_value(given));
  words.*member = given.value;
}

constexpr Def kJob[] = {
    {{"--kind", "KIND",
      "Kind of the job: indexed, jobset, statefulset, lws, volcano: every pod\n"
      "runs the agent, without ssh; mpijob, trainjob, etjob: the operator's\n"
      "ssh keys; trainjob-torch: Trainer's own torch runtime"},
     [](Given& words, const GivenOption& given) {
       words.kind = static_cast<ManifestKind>(choice_value(given, kManifestKinds));
       words.kind_given = true;
     }},
    {{"--name", "NAME", "Name of the job, a part of DNS names (default: train)"},
     set_checked<check_job_name, &ManifestRequest::name>},
    {{"--namespace", "NAME", "Namespace of the job (default: kubectl's current one)"},
     set_checked<check_label, &ManifestRequest::space>},
    {{"--nodes", "MIN:MAX|N",
      "Number of pods that run ranks (default: 1); MIN:MAX: it may change while\n"
      "the job runs, of kinds indexed, jobset and statefulset; begins with MAX"},
     [](Given& words, const GivenOption& given) {
       if (given.value.find(':') == std::string::npos) {
         words.nodes = number_value(given, 1, kMostNodes);
         words.least_nodes = 0;
         return;
       }
       const NodeRange range = node_range_value(given);
       if (range.most == 0)
         usage_error(fmt::format("--nodes {}: MAX is missing", given.value),
                     "the manifest needs the largest number of pods, for example 2:8");
       words.nodes = range.most;
       words.least_nodes = range.least;
     }},
    {{"--slots", "N", "Ranks in each pod (default: 1)"},
     set_number<1, kMostSlots, &ManifestRequest::slots>},
    {{"--image", "IMAGE", "Container image that contains dslaunch (containers/docker)"},
     set_checked<check_image, &ManifestRequest::image>},
    {{"--max-restarts", "N",
      "Restarts of all ranks, as in dslaunch (default: 3; trainjob-torch: 0)"},
     set_number<0, kMostRestarts, &ManifestRequest::max_restarts>},
    {{"--with", "TEXT",
      "Another option of dslaunch for the job, as --with=--fold or\n"
      "--with=--env-file=/data/env; repeatable",
      true},
     add_text<&ManifestRequest::options>},
};

constexpr Def kPods[] = {
    {{"--gpu", "RESOURCE", "Resource of each slot (default: one GPU)", false, "nvidia.com/gpu"},
     [](Given& words, const GivenOption& given) {
       check_resource(given.value);
       words.gpu = given.value;
       words.gpu_given = true;
     }},
    {{"--cpu", "AMOUNT", "CPUs of each pod, as 4 or 250m; without --gpu no GPU"},
     set_checked<check_quantity, &ManifestRequest::cpu>},
    {{"--memory", "AMOUNT", "Memory of each pod, as 64Gi; includes /dev/shm"},
     set_checked<check_quantity, &ManifestRequest::memory>},
    {{"--run-as-root", "",
      "Run the pods as root (default: as uid 1000 and without privileges, as\n"
      "the level `restricted` of Pod Security wants)"},
     set_flag<&ManifestRequest::as_root>},
    {{"--read-only", "",
      "Make the pods' image read-only (readOnlyRootFilesystem): they write to\n"
      "claims, and to /tmp and /home/mpiuser/runs, which end with the pod"},
     set_flag<&ManifestRequest::read_only>},
    {{"--gang", "WHO[=NAME]",
      "Schedule all pods at once: kueue=QUEUE, volcano[=SCHEDULER],\n"
      "coscheduling[=SCHEDULER]"},
     [](Given& words, const GivenOption& given) {
       const std::size_t equals = std::min(given.value.find('='), given.value.size());
       const auto who = std::ranges::find(kGangs, given.value.substr(0, equals));
       if (who == kGangs.begin() || who == kGangs.end())
         usage_error(fmt::format("--gang '{}' is not known", given.value),
                     "one of: kueue=QUEUE, volcano, coscheduling");
       words.gang = static_cast<Gang>(who - kGangs.begin());
       if (equals < given.value.size()) words.gang_name = given.value.substr(equals + 1);
     }},
    {{"--claim", "NAME:PATH",
      "Mount the PersistentVolumeClaim NAME at PATH in every pod; repeatable", true},
     [](Given& words, const GivenOption& given) {
       const std::size_t colon = given.value.find(':');
       if (colon == std::string::npos)
         usage_error("--claim must be NAME:PATH", "for example --claim data:/data");
       words.claims.push_back({given.value.substr(0, colon), given.value.substr(colon + 1)});
       check_claim(words.claims.back());
     }},
    {{"-x", "NAME=VALUE", "Set a variable for every rank; repeatable", true},
     [](Given& words, const GivenOption& given) {
       const std::size_t equals = given.value.find('=');
       if (equals == std::string::npos)
         usage_error(fmt::format("-x must be NAME=VALUE, not '{}'", given.value),
                     "put secret values into a Secret");
       words.env.emplace_back(given.value.substr(0, equals), given.value.substr(equals + 1));
       check_variable(words.env.back().first, words.env.back().second);
     }},
    {{"--leave", "SECONDS",
      "Time that a pod has to save its work when it must end (default: 120s);\n"
      "its ranks have 5 s less"},
     [](Given& words, const GivenOption& given) {
       const auto whole = std::chrono::ceil<std::chrono::seconds>(positive_duration_value(given));
       if (whole.count() < kShortestLeave || whole.count() > kLongestLeave)
         usage_error(fmt::format("--leave must be from {} s to one day", kShortestLeave));
       words.leave_seconds = static_cast<int>(whole.count());
     }},
};

constexpr Def kRun[] = {
    {{"--wait", "SECONDS", "Of run: time until the job's output begins (default: 600s)"},
     [](Given& words, const GivenOption& given) {
       words.wait = std::chrono::ceil<std::chrono::seconds>(positive_duration_value(given));
     }},
};

constexpr Def kSecrets[] = {
    {{"--token-secret", "NAME",
      "Secret whose key `token` the agents prove to each other (default:\n"
      "NAME-token; the manifest's first lines say how to make it)"},
     set_checked<check_object, &ManifestRequest::token_secret>},
    {{"--new-token", "", "Write that Secret too, with a new random token (run: if there is none)"},
     set_flag<&Given::makes_token>},
    {{"--in-image", "",
      "Take train.toml as a path in the image (default: read the file here\n"
      "and make a ConfigMap of it)"},
     set_flag<&Given::in_image>},
};

OptionTable k8s_table(Given& words) {
  OptionTable table;
  table.add("The job", kJob, words);
  table.add("Its pods", kPods, words);
  table.add("What it needs", kSecrets, words);
  table.add("Running it", kRun, words);
  return table;
}

std::string read_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad() || text.empty())
    throw Error(ErrorKind::config, fmt::format("{} cannot be read or is empty", path),
                "if it is a path in the image, add --in-image");
  return text;
}

void take_config(Given& words, const std::vector<std::string>& rest) {
  const std::string& path = rest.front();
  if (!path.ends_with(".toml"))
    usage_error(fmt::format("'{}' is not a .toml file", path),
                "to run a program: dslaunch k8s manifest [options] -- COMMAND ARGS...");
  for (auto word = rest.begin() + 1; word != rest.end(); ++word)
    if (word->find('=') == std::string::npos || word->front() == '=')
      usage_error(fmt::format("'{}' after {} is not key=value", *word, path),
                  "for example train.steps=20 zero.stage=0");
  words.overrides.assign(rest.begin() + 1, rest.end());
  words.config = words.in_image ? path : kPodConfig;
  if (!words.in_image) words.config_text = read_config(path);
}

/// Takes the subcommand, the first word.
std::string take_subcommand(std::vector<std::string>& given) {
  constexpr std::string_view kKnown[] = {"manifest", "run", "delete"};
  if (given.empty() || std::ranges::find(kKnown, given.front()) == std::end(kKnown))
    usage_error(
        given.empty() ? "no k8s subcommand is given"
                      : fmt::format("unknown k8s subcommand '{}'", given.front()),
        fmt::format("one of: {}; for example: dslaunch k8s manifest --kind jobset --nodes 4 "
                    "--image I train.toml",
                    fmt::join(kKnown, ", ")));
  std::string word = std::move(given.front());
  given.erase(given.begin());
  return word;
}

void take_words(Given& words, const std::vector<std::string>& given, bool dashes) {
  if (!words.cpu.empty() && !words.gpu_given) words.gpu.clear();
  if (dashes && (words.command.empty() || words.command.front().empty()))
    usage_error("no command after --", "for example: -- python3 train.py");
  if (dashes && !given.empty())
    usage_error(fmt::format("both {} and a command after -- are given", given.front()));
  if (!dashes && given.empty())
    usage_error("nothing to run", "give train.toml, or a command after --");
  if (!dashes) take_config(words, given);
  if (words.makes_token) words.new_token = random_token();
}

int run_k8s(int argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  Given words;
  auto given = read_command(kK8sCommand, k8s_table(words), static_cast<int>(dashes - argv), argv);
  if (!given) return 0;
  const std::string subcommand = take_subcommand(*given);
  if (!words.kind_given)
    usage_error("--kind is missing",
                fmt::format("choose one of: {}", fmt::join(kManifestKinds, ", ")));
  if (subcommand == "delete") {
    if (!given->empty() || dashes != end)
      usage_error("k8s delete takes only --kind, --name, --namespace and --gang");
    return delete_in_cluster(words);
  }
  if (dashes != end) words.command.assign(dashes + 1, end);
  take_words(words, *given, dashes != end);
  return subcommand == "run" ? run_in_cluster(words, words.wait) : print(manifest_text(words));
}

}  // namespace

constinit const Command kK8sCommand = {
    .name = "k8s",
    .summary = "Run a job on Kubernetes, or write its manifest",
    .run = run_k8s,
    .synopsis =
        "manifest|run --kind KIND --image IMAGE [options] train.toml [key=value ...]\n"
        "       dslaunch k8s delete --kind KIND --name NAME",
    .details =
        "manifest: prints the manifest, for kubectl apply -f -. No cluster is contacted.\n"
        "run: applies it with kubectl, shows the output of the job, and exits with its code. The\n"
        "job stays in the cluster until it is deleted, also after Ctrl-C.\n"
        "delete: deletes the job and all that the manifest made for it.\n"
        "docs/kubernetes.md says what each kind needs.",
    .options = shown_table<Given, k8s_table>,
};

}  // namespace ds::launcher
