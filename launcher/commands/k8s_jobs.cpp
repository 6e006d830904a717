// dslaunch k8s run and delete: kubectl as a child, signals, the job's exit code.
#include "launcher/commands/k8s_jobs.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "engine/base/split.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/start/job_request.h"
#include "launcher/kubectl/follow_job.h"
#include "launcher/kubectl/kubectl.h"

namespace ds::launcher {
namespace {

using Words = std::vector<std::string>;

constexpr std::chrono::seconds kLookEvery{1};
constexpr int kMostFailures = 30;

Words in_space(const ManifestRequest& request, Words words) {
  if (!request.space.empty()) words.insert(words.begin(), {"-n", request.space});
  return words;
}

std::string label_of(const ManifestRequest& request) {
  return fmt::format("{}={}", kJobLabel, request.name);
}

/// Throws what kubectl said, with what the user can change.
[[noreturn]] void refuse(const char* what, const KubectlResult& result) {
  std::string text = result.err.empty() ? result.out : result.err;
  while (text.ends_with('\n')) text.pop_back();
  throw Error(ErrorKind::config, fmt::format("{}: {}", what, text), advice_for(text));
}

/// The job of one call of `run`.
class ClusterJob {
 public:
  explicit ClusterJob(ManifestRequest request) : request_(std::move(request)) {}

  /// Refuses a job that is there, removes what a deleted one of that name has left, and applies.
  void apply() {
    if (object()) {
      throw Error(
          ErrorKind::config,
          fmt::format("{} {} is in the cluster already",
                      kManifestKinds[static_cast<std::size_t>(request_.kind)], request_.name),
          "end it with dslaunch k8s delete, or give another --name");
    }
    call({"delete", "services,configmaps,secrets", "-l", label_of(request_), "--ignore-not-found"},
         "cannot remove what an earlier job has left");
    if (!request_.new_token && !has_secret()) request_.new_token = random_token();
    const KubectlResult applied =
        kubectl(in_space(request_, {"apply", "-f", "-"}), manifest_text(request_));
    say_lines(applied.out);
    if (applied.code != 0) refuse("the cluster did not accept the whole manifest", applied);
    own_the_rest();
  }

  /// Returns the job's exit code.
  int follow(std::chrono::seconds wait) {
    FollowJob policy(request_.name, static_cast<int>(wait.count()));
    const auto seconds = [begun = Clock::now()](Clock::time_point at) {
      return static_cast<int>(std::chrono::floor<std::chrono::seconds>(at - begun).count());
    };
    for (;; std::this_thread::sleep_for(kLookEvery)) {
      const std::optional<ClusterLook> seen = try_look();
      if (!seen) continue;
      const FollowStep step = policy.next(*seen, seconds(Clock::now()));
      if (!step.say.empty()) say_line(step.say);
      if (step.hopeless) suspend();
      if (step.what == FollowStep::What::finish) return step.code;
      if (step.what != FollowStep::What::follow) continue;
      const auto last = kubectl_relayed(in_space(request_, logs_of(step)), [&] {
        const std::optional<ClusterLook> meanwhile = try_look();
        const std::string news = meanwhile ? policy.unscheduled_news(*meanwhile) : "";
        if (!news.empty()) say_line(news);
      });
      policy.output_ended(seconds(Clock::now()),
                          last ? std::optional(seconds(*last)) : std::nullopt);
    }
  }

 private:
  static Words logs_of(const FollowStep& step) {
    Words words = {"logs", "-f", "--tail=-1"};
    if (step.since_s) words.push_back(fmt::format("--since={}s", *step.since_s));
    words.push_back(step.pod);
    return words;
  }

  static void say_lines(std::string_view text) {
    while (!text.empty()) say_line(std::string(take_line(text)));
  }

  std::string call(Words words, const char* what) const {
    KubectlResult result = kubectl(in_space(request_, std::move(words)));
    if (result.code != 0) refuse(what, result);
    return std::move(result.out);
  }

  /// Returns the main object as JSON; nothing if it is not there.
  [[nodiscard]] std::optional<std::string> object() const {
    std::string json = call({"get", std::string(resource_of(request_.kind)), request_.name,
                             "--ignore-not-found", "-o", "json"},
                            "the job cannot be looked up");
    return json.empty() ? std::nullopt : std::optional(std::move(json));
  }

  [[nodiscard]] bool has_secret() const {
    const std::string name =
        request_.token_secret.empty() ? request_.name + "-token" : request_.token_secret;
    return !call({"get", "secrets", name, "--ignore-not-found", "-o", "name"},
                 "the Secret cannot be looked up")
                .empty();
  }

  /// Lets the cluster delete the rest with the main object. A refusal costs only tidiness.
  void own_the_rest() const {
    const std::string patch = owner_patch(object().value_or(""));
    if (patch.empty()) return;
    const KubectlResult names = kubectl(in_space(
        request_, {"get", "services,configmaps,secrets", "-l", label_of(request_), "-o", "name"}));
    for (std::string_view rest = names.out; !rest.empty();)
      kubectl(in_space(request_,
                       {"patch", std::string(take_line(rest)), "--type", "merge", "-p", patch}));
  }

  /// Keeps an operator without a policy for exit codes from starting the root again.
  void suspend() const {
    if (request_.kind != ManifestKind::mpijob) return;
    const KubectlResult done = kubectl(in_space(
        request_, {"patch", std::string(resource_of(request_.kind)), request_.name, "--type",
                   "merge", "-p", R"({"spec":{"runPolicy":{"suspend":true}}})"}));
    if (done.code == 0) say_line("the MPIJob is suspended; dslaunch k8s delete removes it");
  }

  /// Returns nothing where the API server does not answer for a short time.
  std::optional<ClusterLook> try_look() {
    try {
      ClusterLook seen = look();
      failures_ = 0;
      return seen;
    } catch (const Error&) {
      if (++failures_ > kMostFailures) throw;
      return std::nullopt;
    }
  }

  [[nodiscard]] ClusterLook look() const {
    ClusterLook look;
    const std::optional<std::string> main = object();
    look.is_there = main.has_value();
    if (!main) return look;
    const std::string pods = call({"get", "pods", "-l", label_of(request_), "-o", "json"},
                                  "the pods of the job cannot be looked up");
    look.root = root_pod(request_.kind, request_.name, pods);
    look.unscheduled = unscheduled(pods);
    look.end = end_of(*main);
    if (!look.root && !look.end)
      look.warning = newest_warning(request_.name,
                                    kubectl(in_space(request_, {"get", "events", "--field-selector",
                                                                "type=Warning", "-o", "json"}))
                                        .out);
    return look;
  }

  ManifestRequest request_;
  int failures_ = 0;  // of looks, one after the other
};

/// Ctrl-C ends only the output: kubectl, in the same process group, ends by itself.
void leave_the_job(int signo) {
  constexpr std::string_view kText =
      "\ndslaunch: the job goes on in the cluster; end it with dslaunch k8s delete\n";
  (void)!::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(128 + signo);
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw_errno("cannot get random bytes", errno);
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

int run_in_cluster(ManifestRequest request, std::chrono::seconds wait) {
  if (request.kind == ManifestKind::statefulset || request.kind == ManifestKind::lws)
    usage_error("k8s run needs a kind whose pods end",
                "statefulset and lws are for services: use --kind indexed or jobset");
  ClusterJob job(std::move(request));
  job.apply();
  std::signal(SIGINT, leave_the_job);
  return job.follow(wait);
}

int delete_in_cluster(const ManifestRequest& request) {
  std::string kinds = fmt::format("{},services,configmaps,secrets", resource_of(request.kind));
  if (request.gang == Gang::volcano) kinds += ",podgroups.scheduling.volcano.sh";
  if (request.gang == Gang::coscheduling) kinds += ",podgroups.scheduling.x-k8s.io";
  return kubectl_shown(in_space(
      request, {"delete", kinds, "-l", label_of(request), "--ignore-not-found", "--timeout=300s"}));
}

}  // namespace ds::launcher
