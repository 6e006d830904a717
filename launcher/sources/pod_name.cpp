// Pod names: parses /etc/hosts line by line.
#include "launcher/sources/pod_name.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <cctype>
#include <sstream>

namespace ds::launcher {
namespace {

constexpr const char* kHostsFile = "/etc/hosts";
constexpr std::string_view kKubeletHeader = "# Kubernetes-managed hosts file";

std::optional<PodName> split_name(std::string_view name, std::string_view host) {
  constexpr std::string_view kMark = ".svc.";
  if (!name.starts_with(host) || name.substr(host.size(), 1) != ".") return std::nullopt;
  name.remove_prefix(host.size() + 1);
  const std::size_t mark = name.find(kMark);
  const std::size_t dot = name.find('.');
  const bool three_parts = mark != std::string_view::npos && dot < mark && dot > 0 &&
                           name.find('.', dot + 1) == mark && mark > dot + 1;
  if (!three_parts || name.size() == mark + kMark.size()) return std::nullopt;
  return PodName{.host = std::string(host),
                 .subdomain = std::string(name.substr(0, dot)),
                 .space = std::string(name.substr(dot + 1, mark - dot - 1)),
                 .domain = std::string(name.substr(mark + kMark.size()))};
}

}  // namespace

std::string PodName::tail() const { return fmt::format("{}.{}.svc.{}", subdomain, space, domain); }

std::string name_as_compared(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_address(const std::string& text) {
  in6_addr bytes{};
  return ::inet_pton(AF_INET, text.c_str(), &bytes) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

std::string_view first_label(std::string_view name) {
  if (is_address(std::string(name))) return name;
  return name.substr(0, name.find('.'));
}

std::optional<PodName> find_pod_name(const World& world) {
  const FileText file = world.read_file(kHostsFile);
  const std::string host = name_as_compared(first_label(world.hostname));
  if (!file.text || host.empty()) return std::nullopt;
  std::istringstream lines(*file.text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;  // skip the address
    while (words >> word)
      if (auto name = split_name(name_as_compared(word), host)) return name;
  }
  return std::nullopt;
}

bool is_pod(const World& world) {
  if (world.variable("KUBERNETES_SERVICE_HOST") || world.variable("K_MPI_JOB_ROLE")) return true;
  const FileText file = world.read_file(kHostsFile);
  return file.text && file.text->starts_with(kKubeletHeader);
}

}  // namespace ds::launcher
