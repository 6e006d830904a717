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
  refused([](ManifestRequest& w) { w.memory = "64GB"; }, "--memory must be an amount of bytes");
  refused([](ManifestRequest& w) { w.memory = "0"; }, "--memory must be an amount of bytes");
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
