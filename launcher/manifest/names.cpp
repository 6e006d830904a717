// Kubernetes' rules for names: RFC 1123 labels, DNS names of pods, quantities, image references.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/split.h"
#include "launcher/cli/option_table.h"
#include "launcher/manifest/manifest.h"
#include "launcher/manifest/yaml.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kLongestLabel = 63;            // RFC 1123
constexpr std::size_t kMostConfigBytes = 1'000'000;  // a ConfigMap takes 1 MiB with its names

// The longest text that each ManifestKind adds to the name of the job; N is the last index.
constexpr std::array<std::string_view, 9> kLongestSuffixes = {
    "-N-xxxxx",  // name of a pod
    "-node-0-N-xxxxx",
    "-xxxxxxxxxx",  // label of its revision
    "-0-xxxxxxxxxx",   "-launcher-xxxxx", "-launcher-0-0-xxxxx",
    "-node-0-N-xxxxx", "-launcher-xxxxx", "-node-N"};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/// Returns whether `text` has only letters, digits and characters of `others`.
bool has_only(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || others.find(c) != others.npos;
  });
}

/// Returns what is wrong with `text` as a label of a DNS name; empty if it is valid.
std::string label_problem(std::string_view text, bool starts_with_letter) {
  if (text.empty()) return "is empty";
  if (!has_only(text, "-") || std::ranges::any_of(text, is_upper))
    return "has characters other than a-z, 0-9 and '-'";
  if (starts_with_letter && !is_lower(text.front())) return "does not start with a letter";
  if (text.front() == '-' || text.back() == '-') return "starts or ends with '-'";
  return text.size() > kLongestLabel ? fmt::format("is longer than {} bytes", kLongestLabel) : "";
}

/// Returns a valid label similar to `text`, for a hint.
std::string as_label(std::string_view text) {
  std::string label;
  for (const char c : text) {
    const char lower = is_upper(c) ? static_cast<char>(c + 32) : c;
    const bool known = is_lower(lower) || is_digit(lower);
    if (known && (!label.empty() || is_lower(lower)))
      label += lower;
    else if (!label.empty() && label.back() != '-')
      label += '-';
  }
  label.resize(std::min<std::size_t>(label.size(), 40));
  while (label.ends_with('-')) label.pop_back();
  return label.empty() ? "train" : label;
}

/// Returns a value for a message: cut, without control bytes.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out += c >= ' ' && c < 0x7F ? c : '?';
  return text.size() > 80 ? out + "..." : out;
}

void check_text(std::string_view what, const std::string& text) {
  if (!is_utf8(text))
    usage_error(fmt::format("{} '{}' is not UTF-8", what, shown(text)),
                "Kubernetes accepts only UTF-8");
}

bool is_agent_kind(ManifestKind kind) {
  using enum ManifestKind;
  return kind == indexed || kind == jobset || kind == statefulset || kind == lws;
}

void check_root(const ManifestRequest& request) {
  if (request.kind == ManifestKind::etjob && !request.as_root)
    usage_error("--kind etjob needs --run-as-root",
                "et-operator mounts the keys of ssh in /root/.ssh");
  if (request.kind == ManifestKind::trainjob && request.as_root)
    usage_error("--run-as-root does not apply to --kind trainjob",
                "Trainer mounts the keys of ssh for uid 1000");
}

void check_gang(const ManifestRequest& request) {
  if (request.gang == Gang::none) return;
  if (request.kind == ManifestKind::volcano || request.kind == ManifestKind::etjob)
    usage_error("--gang does not apply to this kind",
                request.kind == ManifestKind::volcano ? "Volcano schedules all pods at once" : "");
  if (request.gang != Gang::kueue && !is_agent_kind(request.kind))
    usage_error(
        fmt::format("--gang {} does not apply to this kind",
                    kGangs[static_cast<std::size_t>(request.gang)]),
        "its operator makes the groups of pods; set it up there, or use --gang kueue=QUEUE");
  if (request.gang == Gang::kueue && request.gang_name.empty())
    usage_error("--gang kueue needs a queue", "for example --gang kueue=team-a");
  if (!request.gang_name.empty()) check_object("--gang", request.gang_name);
}

void check_changing(const ManifestRequest& request) {
  const ManifestKind kind = request.kind;
  const bool changes = kind == ManifestKind::indexed || kind == ManifestKind::jobset ||
                       kind == ManifestKind::statefulset;
  if (request.least_nodes > 0 && !changes)
    usage_error(fmt::format("--nodes MIN:MAX does not apply to --kind {}: its number of pods stays",
                            kManifestKinds[static_cast<std::size_t>(kind)]),
                "use --kind indexed, jobset or statefulset");
}

void check_length(const ManifestRequest& request) {
  std::string suffix(kLongestSuffixes[static_cast<std::size_t>(request.kind)]);
  if (const std::size_t at = suffix.find('N'); at != std::string::npos)
    suffix.replace(at, 1, std::to_string(request.nodes - 1));
  if (request.name.size() + suffix.size() > kLongestLabel)
    usage_error(
        fmt::format("--name {} is too long: '{}{}' has {} bytes, but a DNS label has at most {}",
                    request.name, request.name, suffix, request.name.size() + suffix.size(),
                    kLongestLabel),
        fmt::format("use at most {} bytes for this kind and number of nodes",
                    kLongestLabel - suffix.size()));
}

}  // namespace

void check_job_name(const std::string& name) {
  const std::string problem = label_problem(name, /*starts_with_letter=*/true);
  if (!problem.empty())
    usage_error(fmt::format("--name '{}' {}", shown(name), problem),
                fmt::format("it becomes part of DNS names (RFC 1123); for example --name {}",
                            as_label(name)));
}

void check_label(std::string_view option, const std::string& value) {
  const std::string problem = label_problem(value, /*starts_with_letter=*/false);
  if (!problem.empty())
    usage_error(fmt::format("{} '{}' {}", option, shown(value), problem),
                fmt::format("for example {}", as_label(value)));
}

void check_object(std::string_view option, const std::string& value) {
  for (const std::string_view part : split(value, '.')) {
    const std::string problem = label_problem(part, /*starts_with_letter=*/false);
    if (!problem.empty() || value.size() > 253)
      usage_error(fmt::format("{} '{}' is not a valid object name: a part of it {}", option,
                              shown(value), problem.empty() ? "is too long" : problem),
                  "use lower-case letters, digits, '-' and '.'");
  }
}

void check_image(const std::string& image) {
  if (image.empty())
    usage_error("--image is missing", "for example --image registry.example/dslaunch:1");
  if (!has_only(image, "._-/:@") || !has_only(image.substr(0, 1), "") || image.size() > 512)
    usage_error(fmt::format("--image '{}' is not an image reference", shown(image)),
                "for example registry.example/dslaunch:1");
}

void check_quantity(std::string_view option, const std::string& text) {
  constexpr std::array<std::string_view, 15> kUnits = {"",  "n", "u",  "m",  "k",  "M",  "G", "T",
                                                       "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi"};
  const std::size_t size = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = std::string_view(text).substr(0, size);
  std::string_view unit = std::string_view(text).substr(size);
  const bool exponent = unit.size() > 1 && (unit[0] == 'e' || unit[0] == 'E') && unit != "Ei";
  if (exponent) {
    unit.remove_prefix(unit[1] == '+' || unit[1] == '-' ? 2 : 1);
    unit = !unit.empty() && std::ranges::all_of(unit, is_digit) ? "" : "?";
  }
  const bool known = unit == "Ei" || std::ranges::find(kUnits, unit) != kUnits.end();
  const bool positive = number.find_first_of("123456789") != std::string_view::npos;
  if (!known || !positive || std::ranges::count(number, '.') > 1)
    usage_error(fmt::format("{} '{}' is not a quantity of Kubernetes", option, shown(text)),
                option == "--cpu" ? "for example 4, 0.5 or 250m" : "for example 64Gi or 500M");
}

void check_resource(const std::string& text) {
  const std::size_t slash = text.find('/');
  const bool parts = slash != std::string::npos && slash > 0 && slash + 1 < text.size() &&
                     text.find('/', slash + 1) == std::string::npos;
  if (!has_only(text, "._-/") || !parts || text.size() > 300)
    usage_error(fmt::format("--gpu '{}' is not a resource name", shown(text)),
                "for example --gpu=amd.com/gpu");
}

void check_claim(const PodClaim& claim) {
  check_object("--claim", claim.name);
  check_text("--claim", claim.path);
  if (!claim.path.starts_with('/') || claim.path.find(':') != std::string::npos)
    usage_error(fmt::format("--claim '{}' must be an absolute path without ':'", shown(claim.path)),
                "for example --claim data:/data");
}

void check_variable(const std::string& name, const std::string& value) {
  if (name.empty() || !has_only(name, "_") || is_digit(name.front()))
    usage_error(fmt::format("-x '{}' is not a valid variable name", shown(name)),
                "for example -x NCCL_DEBUG=INFO");
  check_text("-x", value);
}

void check_request(const ManifestRequest& request) {
  check_job_name(request.name);
  check_length(request);
  if (!request.space.empty()) check_label("--namespace", request.space);
  check_image(request.image);
  if (!request.gpu.empty()) check_resource(request.gpu);
  if (!request.cpu.empty()) check_quantity("--cpu", request.cpu);
  if (!request.memory.empty()) check_quantity("--memory", request.memory);
  check_root(request);
  check_changing(request);
  check_gang(request);
  if (!request.token_secret.empty()) check_object("--token-secret", request.token_secret);
  for (const PodClaim& claim : request.claims) check_claim(claim);
  for (const auto& [name, value] : request.env) check_variable(name, value);
  for (const std::string& word : request.options) check_text("--with", word);
  for (const std::string& word : request.command) check_text("the word", word);
  for (const std::string& word : request.overrides) check_text("the override", word);
  check_text("the path", request.config);
  if (!request.config_text) return;
  check_text("the file", *request.config_text);
  if (request.config_text->size() > kMostConfigBytes)
    usage_error(fmt::format("the file has {} bytes, but a ConfigMap holds at most 1 MiB",
                            request.config_text->size()),
                "put it into the image and give its path there with --in-image");
}

}  // namespace ds::launcher
