#include "launcher/sources/own_names.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "launcher/hosts/network.h"

namespace ds::launcher {
namespace {

constexpr const char* kHostsFile = "/etc/hosts";

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

/// Returns an address as inet_ntop writes it, so that equal addresses are equal text. Returns a
/// name in lower case without a final dot.
std::string canonical(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  for (const int family : {AF_INET, AF_INET6})
    if (::inet_pton(family, text.c_str(), bytes.data()) == 1)
      return ::inet_ntop(family, bytes.data(), out.data(), out.size());
  return name_as_compared(text);
}

bool is_own_pod(const std::string& name, const OwnNames& own) {
  if (is_address(name)) return false;
  if (!own.full_name.empty()) return (own.full_name + ".").starts_with(name + ".");
  return own.by_label && !own.names.empty() && first_label(name) == first_label(own.names.front());
}

}  // namespace

std::string PodName::tail() const { return fmt::format("{}.{}.svc.{}", subdomain, space, domain); }

std::string name_as_compared(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_address(const std::string& text) { return parse_address(text).has_value(); }

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
  return file.text && file.text->starts_with("# Kubernetes-managed hosts file");
}

OwnNames own_names(const World& world) {
  OwnNames own;
  if (!world.hostname.empty()) {
    const std::string full = name_as_compared(world.hostname);
    own.names = {full, full.substr(0, full.find('.'))};
  }
  own.addresses = world.addresses;
  if (const auto ip = world.variable("POD_IP")) own.addresses.push_back(canonical(*ip));
  const bool pod = is_pod(world);
  const std::optional<PodName> name = pod ? find_pod_name(world) : std::nullopt;
  if (name) own.full_name = name->full();
  own.by_label = pod && !name;
  return own;
}

OwnNames own_names() { return own_names(this_world()); }

bool is_own_host(const Host& host, const OwnNames& own) {
  if (!host.user.empty() || host.port != 0) return false;
  const std::string name = canonical(host.address.empty() ? host.name : host.address);
  if (name == "localhost" || name == "127.0.0.1" || name == "::1") return true;
  return std::ranges::find(own.names, name) != own.names.end() ||
         std::ranges::find(own.addresses, name) != own.addresses.end() || is_own_pod(name, own);
}

}  // namespace ds::launcher
