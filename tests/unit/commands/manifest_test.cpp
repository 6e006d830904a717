// Tests of `dslaunch k8s manifest`: YAML, names that Kubernetes would refuse, and commands.
#include "launcher/manifest/manifest.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/base/error.h"
#include "launcher/manifest/yaml.h"

using namespace ds::launcher;

namespace {

ManifestRequest small_request(ManifestKind kind) {
  ManifestRequest request;
  request.kind = kind;
  request.name = "gpt";
  request.image = "example/dslaunch:1";
  request.nodes = 4;
  request.slots = 8;
  request.command = {"train"};
  request.as_root = kind == ManifestKind::etjob;
  return request;
}

/// Returns the error, or an empty text.
std::string problem(const ManifestRequest& request) {
  try {
    manifest_text(request);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return error.for_people();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What the kubelet makes of a word of a command, where no variable is set: $$ is $, and a
/// reference to a variable stays as it is. (A set one would be put in: hence `references`.)
std::string kubelet_word(std::string_view word, int& references) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char next = i + 1 < word.size() ? word[i + 1] : '\0';
    if (word[i] == '$' && next == '$')
      ++i;
    else if (word[i] == '$' && next == '(' && word.find(')', i) != word.npos)
      ++references;
    out += word[i];
  }
  return out;
}

}  // namespace

TEST_CASE("YAML: scalars that could be taken for something else are quoted") {
  const auto line = [](const char* text) { return yaml_text({{"k", text}}); };
  for (const char* plain : {"a", "nvidia.com/gpu", "--join", "train.steps=100", "/usr/sbin/sshd"})
    CHECK(line(plain) == fmt::format("k: {}\n", plain));
  for (const char* text :
       {"yes", "No", "on",  "y",          "null",  "TRUE", "",    "1",    "0x1F",
        "1e3", ".5", "~",   "-",          "--",    "---",  "- a", "a: b", "a #b",
        "#",   "[a", "{a",  "*a",         "&a",    "!a",   "%a",  "@a",   "`a",
        "|",   ">",  "a,b", "2026-01-01", "12:30", "=",    "<<",  "?",    "example/dslaunch:1",
        " a",  "a "})
    CHECK(line(text) == fmt::format("k: \"{}\"\n", text));
  CHECK(line("a\"b\\c\td\x01\x7F") == "k: \"a\\\"b\\\\c\\td\\x01\\x7F\"\n");
  CHECK(line("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBB\xBF") ==
        "k: \"\\xE9\\u20AC\\U0001F600\\uFEFF\"\n");
}

TEST_CASE("YAML: lists, maps, literal blocks") {
  CHECK(yaml_text({{"a", Yaml::List()}, {"b", Yaml::Map()}}) == "a: []\nb: {}\n");
  CHECK(yaml_text({{"a", Yaml::List{1, true, "true"}}}) == "a: [1, true, \"true\"]\n");
  CHECK(yaml_text({{"a", Yaml::List{Yaml{{"b", 1}, {"c", 2}}, Yaml::List{3}}}}) ==
        "a:\n- b: 1\n  c: 2\n- [3]\n");
  const std::string long_word(70, 'w');
  CHECK(yaml_text({{"a", Yaml::List{long_word, long_word}}}) ==
        fmt::format("a:\n- {}\n- {}\n", long_word, long_word));
  CHECK(yaml_text({{"a", "x\n  y\n\nz\n"}}) == "a: |\n  x\n    y\n\n  z\n");
  CHECK(yaml_text({{"a", "x\ny"}}) == "a: |-\n  x\n  y\n");
  // Quoted if a block would not be exact.
  for (const char* text : {"x\n\n", " x\ny\n", "\nx\ny", "x\r\ny\n", "x\n  ", "x\n\ty\n"})
    CHECK(has(yaml_text({{"a", text}}), "a: \""));
}

TEST_CASE("UTF-8 is RFC 3629's") {
  for (const char* good : {"", "a", "\xC2\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"})
    CHECK(is_utf8(good));
  for (const char* bad : {"\x80", "\xC1\x81", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xE2\x28\xA1"})
    CHECK_FALSE(is_utf8(bad));
}

TEST_CASE("a word reaches the container as it was given: Kubernetes expands $(NAME) and $$") {
  unsigned seed = 1;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string word;
    for (int i = 0; i < 8; ++i) {
      seed = seed * 1103515245U + 12345U;
      word += "$()ab$$("[(seed >> 16) % 8];
    }
    int references = 0;
    CAPTURE(word);
    REQUIRE(kubelet_word(container_word(word), references) == word);
    REQUIRE(references == 0);
  }
  CHECK(container_word("$HOME costs 5$") == "$HOME costs 5$");
}

TEST_CASE("names that Kubernetes would refuse are refused, with a proposal") {
  ManifestRequest request = small_request(ManifestKind::indexed);
  CHECK(problem(request).empty());
  for (const char* name : {"", "-a", "a-", "My_Job", "a.b", "7b", "\xC3\xA9", "a b"}) {
    request.name = name;
    CAPTURE(name);
    CHECK(has(problem(request), "--name '"));
    CHECK(has(problem(request), "for example --name "));
  }
  request.name = "My_Job.7";
  CHECK(has(problem(request), "for example --name my-job-7"));
}

TEST_CASE("a name may be so long that the longest one made of it is a DNS label") {
  for (std::size_t kind = 0; kind < kManifestKinds.size(); ++kind) {
    ManifestRequest request = small_request(static_cast<ManifestKind>(kind));
    CAPTURE(kManifestKinds[kind]);
    std::size_t longest = 0;
    for (std::size_t size = 1; size <= 64; ++size) {
      request.name = std::string(size, 'a');
      if (problem(request).empty()) longest = size;
    }
    CHECK(longest >= 40);
    CHECK(longest < 63);
    request.name = std::string(longest + 1, 'a');
    CHECK(has(problem(request), fmt::format("at most {} bytes", longest)));
  }
}

TEST_CASE("other values are checked too") {
  const auto refused = [](auto change, const std::string& part) {
    ManifestRequest request = small_request(ManifestKind::jobset);
    change(request);
    CAPTURE(part);
    CHECK(has(problem(request), part));
  };
  refused([](ManifestRequest& w) { w.image = ""; }, "--image is missing");
  refused([](ManifestRequest& w) { w.image = "a b"; }, "--image 'a b' is not an image reference");
  refused([](ManifestRequest& w) { w.image = "-a"; }, "--image '-a' is not an image reference");
  refused([](ManifestRequest& w) { w.space = "Kube"; }, "--namespace 'Kube'");
  refused([](ManifestRequest& w) { w.gpu = "gpu"; }, "--gpu 'gpu'");
  refused([](ManifestRequest& w) { w.gpu = "a/b/c"; }, "--gpu 'a/b/c'");
  refused([](ManifestRequest& w) { w.memory = "64GB"; }, "--memory '64GB' is not a quantity");
  refused([](ManifestRequest& w) { w.memory = "0"; }, "--memory '0' is not a quantity");
  refused([](ManifestRequest& w) { w.cpu = "two"; }, "--cpu 'two' is not a quantity");
  refused([](ManifestRequest& w) { w.kind = ManifestKind::etjob; }, "needs --run-as-root");
  refused([](ManifestRequest& w) { w.kind = ManifestKind::trainjob, w.as_root = true; },
          "does not apply to --kind trainjob");
  refused([](ManifestRequest& w) { w.gang = Gang::kueue; }, "needs a queue");
  refused([](ManifestRequest& w) { w.gang = Gang::kueue, w.gang_name = "A"; }, "--gang 'A'");
  refused([](ManifestRequest& w) { w.kind = ManifestKind::mpijob, w.gang = Gang::volcano; },
          "--gang volcano does not apply");
  refused([](ManifestRequest& w) { w.kind = ManifestKind::volcano, w.gang = Gang::volcano; },
          "--gang does not apply");
  refused([](ManifestRequest& w) { w.token_secret = "A"; }, "--token-secret 'A'");
  refused([](ManifestRequest& w) { w.claims = {{"data", "data"}}; }, "must be an absolute path");
  refused([](ManifestRequest& w) { w.claims = {{"da ta", "/data"}}; }, "--claim 'da ta'");
  refused([](ManifestRequest& w) { w.env = {{"A-B", "1"}}; }, "-x 'A-B'");
  refused([](ManifestRequest& w) { w.command = {"a", "\xFF"}; }, "is not UTF-8");
  refused([](ManifestRequest& w) { w.config_text = std::string(1'000'001, '#'); }, "ConfigMap");
}

TEST_CASE("what is asked for is in the manifest") {
  ManifestRequest request = small_request(ManifestKind::indexed);
  request.space = "ml";
  request.env = {{"A", "$(B)"}};
  request.claims = {{"data", "/data"}};
  request.new_token = "0123";
  request.options = {"--fold"};
  const std::string text = manifest_text(request);
  for (const char* part :
       {"namespace: ml", "value: \"$$(B)\"", "claimName: data", "token: \"0123\"", "- --fold",
        "\"gpt-{0..3}.gpt\"", "nvidia.com/gpu: 8", "do not keep it"})
    CHECK_MESSAGE(has(text, part), part);
  request.kind = ManifestKind::mpijob;  // uses the operator's keys, so it needs no token
  CHECK_FALSE(has(manifest_text(request), "0123"));
  CHECK(has(manifest_text(request), "command: [dslaunch, \"-x\", A, "));
}

TEST_CASE("pods whose number may change") {
  ManifestRequest request = small_request(ManifestKind::statefulset);
  request.least_nodes = 2;
  const std::string text = manifest_text(request);
  CHECK(has(text, "# gpt, 2 to 4 x 8 ranks: StatefulSet"));
  CHECK(has(text, "replicas: 4"));
  CHECK(has(text, "\"2:4\""));
  request.kind = ManifestKind::indexed;
  CHECK(has(manifest_text(request), "successPolicy:"));
  request.kind = ManifestKind::lws;
  CHECK(has(problem(request), "--nodes MIN:MAX does not apply to --kind lws"));
  request.kind = ManifestKind::indexed;
  request.least_nodes = 0;
  CHECK(!has(manifest_text(request), "successPolicy"));
}

TEST_CASE("every quantity of Kubernetes is taken, and nothing else") {
  for (const char* good : {"1", "250m", "0.5", ".5", "1.5Gi", "64Gi", "500M", "1e3", "2E6", "1E-1",
                           "3E", "1Ei", "100n", "7u", "12k", "8Pi", "1."})
    CHECK_NOTHROW(check_quantity("--cpu", good));
  for (const char* bad : {"", "0", "0.0", "m", "-1", "1 ", "1mm", "1.2.3", "1GB", "1e", "1e+", "1K",
                          "1Mib", "0x1", "e3"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(check_quantity("--cpu", bad), ds::Error);
  }
  ManifestRequest request = small_request(ManifestKind::indexed);
  request.cpu = "250m";
  CHECK(has(manifest_text(request), "cpu: \"250m\""));
  request.cpu = "2";
  CHECK(has(manifest_text(request), "cpu: 2\n"));
}

TEST_CASE("ranks have the time that pods have, less what the end of a pod takes") {
  for (std::size_t kind = 0; kind < kManifestKinds.size(); ++kind) {
    ManifestRequest request = small_request(static_cast<ManifestKind>(kind));
    request.leave_seconds = 300;
    CAPTURE(kManifestKinds[kind]);
    const std::string text = manifest_text(request);
    CHECK(has(text, "terminationGracePeriodSeconds: 300"));
    CHECK((has(text, "--grace, \"295\"") || has(text, "- --grace\n") ||
           has(text, "--shutdown-timeout=295")));
    CHECK(has(text, "295"));
  }
}

TEST_CASE("all pods are `restricted`, unless root is asked for") {
  const auto count = [](const std::string& text, std::string_view part) {
    int found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
    return found;
  };
  for (std::size_t kind = 0; kind < kManifestKinds.size(); ++kind) {
    ManifestRequest request = small_request(static_cast<ManifestKind>(kind));
    CAPTURE(kManifestKinds[kind]);
    const std::string text = manifest_text(request);
    const int pods = request.as_root ? 0 : count(text, "containers:");
    for (const char* part : {"runAsNonRoot: true", "type: RuntimeDefault",
                             "allowPrivilegeEscalation: false", "drop: [ALL]"})
      CHECK_MESSAGE(count(text, part) == pods, part);
    if (request.kind == ManifestKind::trainjob) continue;
    request.as_root = true;
    CHECK(count(manifest_text(request), "runAs") == 0);
  }
}

TEST_CASE("launchers ask for resources, which a ResourceQuota wants, and for no GPU") {
  for (const ManifestKind kind : {ManifestKind::mpijob, ManifestKind::etjob}) {
    const std::string text = manifest_text(small_request(kind));
    CHECK(has(text, "requests:"));
    CHECK(has(text, "memory: \"1Gi\""));
    CHECK(text.find("nvidia.com/gpu") == text.rfind("nvidia.com/gpu"));
  }
}

TEST_CASE("everything of a job has its label, and what pods have read cannot be changed") {
  for (std::size_t kind = 0; kind < kManifestKinds.size(); ++kind) {
    ManifestRequest request = small_request(static_cast<ManifestKind>(kind));
    request.new_token = "0123";
    request.command.clear();
    request.config = kPodConfig;
    request.config_text = "a = 1\n";
    CAPTURE(kManifestKinds[kind]);
    const std::string text = manifest_text(request);
    CHECK(has(text, "metadata:\n  name: gpt\n  labels:\n    dslaunch.io/job: gpt"));
    const std::size_t map = text.find("kind: ConfigMap");
    REQUIRE(map != text.npos);
    CHECK(has(text.substr(map), "immutable: true"));
    CHECK(has(text.substr(map), "dslaunch.io/job: gpt"));
    CHECK(has(text, "kind: Secret") == has(text, "token: \"0123\""));
  }
}

TEST_CASE("a gang is named in the way of its scheduler") {
  ManifestRequest request = small_request(ManifestKind::indexed);
  request.gang = Gang::kueue;
  request.gang_name = "team-a";
  CHECK(has(manifest_text(request), "kueue.x-k8s.io/queue-name: team-a"));
  CHECK_FALSE(has(manifest_text(request), "kind: PodGroup"));
  request.gang = Gang::volcano;
  request.gang_name.clear();
  for (const char* part : {"scheduling.volcano.sh/v1beta1", "minMember: 4",
                           "schedulerName: volcano", "scheduling.k8s.io/group-name: gpt"})
    CHECK_MESSAGE(has(manifest_text(request), part), part);
  request.gang = Gang::coscheduling;
  request.gang_name = "gang";
  for (const char* part : {"scheduling.x-k8s.io/v1alpha1", "minMember: 4", "schedulerName: gang",
                           "scheduling.x-k8s.io/pod-group: gpt"})
    CHECK_MESSAGE(has(manifest_text(request), part), part);
}
