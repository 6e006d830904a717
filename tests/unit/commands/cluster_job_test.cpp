// Tests of `dslaunch k8s run`: what kubectl printed is read, and decides what is done next.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "launcher/kubectl/follow_job.h"

using namespace ds::launcher;
using What = FollowStep::What;

namespace {

std::string pod(const char* name, int created, const char* index, const char* state) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","uid":"u-{}","creationTimestamp":"2026-01-01T00:00:{:02}Z",)"
      R"("labels":{{"batch.kubernetes.io/job-completion-index":"{}"}}}},)"
      R"("status":{{"containerStatuses":[{{"state":{{{}}}}}]}}}})",
      name, name, created, index, state);
}

std::string list(const std::vector<std::string>& items) {
  return fmt::format(R"({{"items":[{}]}})", fmt::join(items, ","));
}

constexpr const char* kRunning = R"("running":{"startedAt":"x"})";

}  // namespace

TEST_CASE("the root pod is the newest one of index 0, or the launcher") {
  const std::string pods =
      list({pod("gpt-0-a", 1, "0", R"("terminated":{"exitCode":143})"),
            pod("gpt-1-b", 3, "1", kRunning), pod("gpt-0-c", 2, "0", kRunning)});
  const auto root = root_pod(ManifestKind::indexed, "gpt", pods);
  REQUIRE(root);
  CHECK(root->name == "gpt-0-c");
  CHECK(root->started);
  CHECK(root->running);
  CHECK(!root->code);
  const auto first = root_pod(ManifestKind::jobset, "gpt",
                              list({pod("gpt-0-a", 1, "0", R"("terminated":{"exitCode":143})")}));
  CHECK(first->code == 143);
  CHECK(!first->running);
  CHECK(root_pod(ManifestKind::mpijob, "gpt", list({pod("gpt-worker-0", 1, "", kRunning),
                                             pod("gpt-launcher-x", 1, "", kRunning)}))
            ->name == "gpt-launcher-x");
  // The job's own name may contain the word.
  CHECK(root_pod(ManifestKind::trainjob, "gpt-launcher",
                 list({pod("gpt-launcher-launcher-0-0-x", 1, "", kRunning),
                       pod("gpt-launcher-node-0-0-y", 2, "", kRunning)}))
            ->name == "gpt-launcher-launcher-0-0-x");
  CHECK(root_pod(ManifestKind::volcano, "gpt",
                 list({pod("gpt-node-1", 1, "", kRunning), pod("gpt-node-0", 1, "", kRunning)}))
            ->name == "gpt-node-0");
  for (const char* nothing :
       {"", "{}", "[]", "null", R"({"items":[]})", R"({"items":[{}]})", "{\"items\":7"})
    CHECK(!root_pod(ManifestKind::indexed, "gpt", nothing));
}

TEST_CASE("a pod that has not started says why") {
  const auto root =
      root_pod(ManifestKind::indexed, "gpt",
               list({pod("gpt-0-a", 1, "0",
                         R"("waiting":{"reason":"ImagePullBackOff","message":"no such image"})")}));
  CHECK(!root->started);
  CHECK(root->waiting == "ImagePullBackOff: no such image");
  const auto unplaced = root_pod(
      ManifestKind::indexed, "gpt",
      R"({"items":[{"metadata":{"name":"p","labels":{"batch.kubernetes.io/job-completion-index":"0"}},)"
      R"("status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",)"
      R"("message":"0/1 nodes are available: 1 Insufficient cpu."}]}}]})");
  CHECK(unplaced->waiting == "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.");
}

TEST_CASE("each start of a container counts, and its last exit code stays known") {
  const auto root = root_pod(
      ManifestKind::mpijob, "gpt",
      R"({"items":[{"metadata":{"name":"gpt-launcher","uid":"u"},"status":{"containerStatuses":[)"
      R"({"restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}},)"
      R"("lastState":{"terminated":{"exitCode":65}}}]}}]})");
  CHECK(root->uid == "u/2");
  CHECK(!root->started);
  CHECK(root->code == 65);
}

TEST_CASE("pods that no node takes are named") {
  const auto scheduled = [](const char* name, const char* phase, const char* status) {
    return fmt::format(
        R"({{"metadata":{{"name":"{}"}},"status":{{"phase":"{}","conditions":[{{"type":"PodScheduled",)"
        R"("status":"{}","message":"0/1 nodes are available: 1 Insufficient cpu."}}]}}}})",
        name, phase, status);
  };
  CHECK(unscheduled(list({scheduled("a", "Running", "True"), scheduled("b", "Pending", "False"),
                          scheduled("c", "Failed", "False")})) ==
        "1 of 2 pods: b: 0/1 nodes are available: 1 Insufficient cpu.");
  CHECK(unscheduled(list({scheduled("a", "Pending", "True")})).empty());
  FollowJob job("gpt", 600);
  const std::string news = job.unscheduled_news({.unscheduled = "1 of 2 pods: b: Insufficient cpu"});
  CHECK(news.find("gpt: no node takes 1 of 2 pods: b: Insufficient cpu\n  hint: ") == 0);
  CHECK(news.find("--gang") != std::string::npos);
  CHECK(job.unscheduled_news({.unscheduled = "1 of 2 pods: b: Insufficient cpu"}).empty());
  CHECK(job.unscheduled_news({}).empty());
}

TEST_CASE("the end of each kind of object is read") {
  const auto condition = [](const char* type, const char* status) {
    return fmt::format(
        R"({{"status":{{"conditions":[{{"type":"{}","status":"{}","reason":"R","message":"m"}}]}}}})",
        type, status);
  };
  for (const char* good : {"Complete", "Completed", "Succeeded"})
    CHECK(end_of(condition(good, "True"))->succeeded);
  CHECK(!end_of(condition("Failed", "True"))->succeeded);
  CHECK(end_of(condition("Failed", "True"))->reason == "R: m");
  CHECK(!end_of(condition("Failed", "False")));
  CHECK(!end_of(condition("Running", "True")));
  CHECK(end_of(R"({"status":{"state":{"phase":"Completed"}}})")->succeeded);
  CHECK(end_of(R"({"status":{"state":{"phase":"Aborted"}}})")->reason == "Aborted");
  CHECK(!end_of(R"({"status":{"state":{"phase":"Running"}}})"));
  CHECK(!end_of("what"));
}

TEST_CASE("warnings about the job and its parts count, the newest one") {
  const char* events =
      R"({"items":[{"involvedObject":{"name":"gpt"},"lastTimestamp":"2","reason":"FailedCreate","message":"exceeded quota"},)"
      R"({"involvedObject":{"name":"gpt-0-x"},"lastTimestamp":"1","reason":"Old","message":"old"},)"
      R"({"involvedObject":{"name":"gptx"},"lastTimestamp":"3","reason":"Other","message":"job"}]})";
  CHECK(newest_warning("gpt", events) == "FailedCreate: exceeded quota");
  CHECK(newest_warning("other", events).empty());
}

TEST_CASE("a job is waited for, shown and ended with the code of its root") {
  FollowJob job("gpt", 600);
  CHECK(job.next({}, 0).what == What::wait);
  CHECK(job.next({.warning = "slow"}, 4).say.empty());
  const FollowStep told = job.next({.warning = "FailedCreate: exceeded quota: x"}, 6);
  CHECK(told.say.find("waiting for gpt: FailedCreate: exceeded quota: x\n  hint: ") == 0);
  CHECK(job.next({.warning = "FailedCreate: exceeded quota: x"}, 7).say.empty());
  RootPod root{.name = "gpt-0-a", .uid = "1", .started = true};
  const FollowStep shown = job.next({.root = root}, 8);
  CHECK(shown.what == What::follow);
  CHECK(shown.pod == "gpt-0-a");
  CHECK(job.next({.root = root}, 9).what == What::wait);
  root.code = 143;
  CHECK(job.next({.root = root}, 10).what == What::wait);
  // Another pod takes its place.
  CHECK(job.next({.root = RootPod{.name = "gpt-0-b", .uid = "2", .started = true}}, 11).pod ==
        "gpt-0-b");
  const FollowStep end =
      job.next({.root = RootPod{.name = "gpt-0-b", .uid = "2", .started = true, .code = 9},
                .end = ClusterEnd{.reason = "PodFailurePolicy: code 9"}},
               700);
  CHECK(end.what == What::finish);
  CHECK(end.code == 9);
  CHECK(end.say == "gpt has failed: PodFailurePolicy: code 9");
}

TEST_CASE("output that ends before its pod is followed again, from before its last line") {
  FollowJob job("gpt", 600);
  RootPod root{.name = "gpt-0-a", .uid = "1", .started = true, .running = true};
  const FollowStep first = job.next({.root = root}, 2);
  CHECK(first.what == What::follow);
  CHECK(!first.since_s);
  job.output_ended(14400, 14100);
  CHECK(job.next({.root = root}, 14404).what == What::wait);  // perhaps the pod has just ended
  const FollowStep again = job.next({.root = root}, 14406);
  CHECK(again.what == What::follow);
  CHECK(again.pod == "gpt-0-a");
  CHECK(again.since_s == 14406 - 14100 + 10);
  CHECK(again.say ==
        "kubectl logs has ended, but gpt-0-a is running: following its output again; its last lines "
        "may come twice");
  // Without any output the pauses grow, and the time of the last line stays.
  job.output_ended(14407, std::nullopt);
  CHECK(job.next({.root = root}, 14416).what == What::wait);
  const FollowStep third = job.next({.root = root}, 14417);
  CHECK(third.since_s == 14417 - 14100 + 10);
  CHECK(third.say.empty());
  for (int at = 14420, i = 0; i < 5; ++i, at += 31) {
    job.output_ended(at, std::nullopt);
    CHECK(job.next({.root = root}, at + 30).what == What::follow);
  }
  // A pod that has ended, and one that is new.
  job.output_ended(15000, 15000);
  root.running = false;
  root.code = 143;
  CHECK(job.next({.root = root}, 15100).what == What::wait);
  const RootPod other{.name = "gpt-0-b", .uid = "2", .started = true, .running = true};
  CHECK(!job.next({.root = other}, 15101).since_s);
  job.output_ended(15102, std::nullopt);
  CHECK(!job.next({.root = other}, 15107).since_s);  // nothing of it was shown: all of it
}

TEST_CASE("a code that no restart cures ends a job that its operator starts again") {
  for (const int code : {64, 65, 93}) {
    FollowJob job("gpt", 600);
    RootPod root{.name = "l", .uid = "1/0", .started = true};
    CHECK(job.next({.root = root}, 1).what == What::follow);
    root.code = code;
    CHECK(job.next({.root = root}, 3).what == What::wait);
    root.uid = "1/1";
    CHECK(job.next({.root = root}, 4).what == What::follow);
    root.started = false;
    const FollowStep end = job.next({.root = root}, 11);
    CHECK(end.what == What::finish);
    CHECK(end.code == code);
    CHECK(end.hopeless);
  }
  FollowJob job("gpt", 600);
  RootPod root{.name = "l", .uid = "1/0", .started = true, .code = 69};
  job.next({.root = root}, 1);
  CHECK(job.next({.root = root}, 100).what == What::wait);
}

TEST_CASE("other ends: success, failure without a code, deletion, no start") {
  const RootPod done{.name = "p", .uid = "1", .started = true, .code = 0};
  FollowJob good("gpt", 600);
  CHECK(good.next({.root = done, .end = ClusterEnd{.succeeded = true}}, 1).what == What::follow);
  CHECK(good.next({.root = done, .end = ClusterEnd{.succeeded = true}}, 2).code == 0);
  FollowJob odd("gpt", 600);
  CHECK(odd.next({.end = ClusterEnd{.reason = "DeadlineExceeded"}}, 1).code == 1);
  FollowJob deleted("gpt", 600);
  CHECK(deleted.next({.is_there = false}, 1).code == 143);
  FollowJob late("gpt", 10);
  late.next({.warning = "ImagePullBackOff"}, 9);
  const FollowStep over = late.next({.warning = "ImagePullBackOff"}, 10);
  CHECK(over.code == 124);
  CHECK(over.say.find("within 10 s: ImagePullBackOff") != std::string::npos);
}

TEST_CASE("what the API server says leads to advice") {
  CHECK(advice_for("no matches for kind \"JobSet\" in version").find("--kind") !=
        std::string::npos);
  CHECK(advice_for("pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"")
            .find("--run-as-root") != std::string::npos);
  CHECK(advice_for("failed quota: q: must specify limits.cpu").find("--cpu") != std::string::npos);
  CHECK(advice_for("all is well").empty());
  CHECK(
      owner_patch(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"g","uid":"7"}})") ==
      R"({"metadata":{"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"g","uid":"7"}]}})");
  CHECK(owner_patch("").empty());
}
