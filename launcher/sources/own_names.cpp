// Own names and addresses, compared as text without DNS.
#include "launcher/sources/own_names.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

#include "launcher/sources/pod_name.h"

namespace ds::launcher {

namespace {

/// Returns an address as inet_ntop writes it, so that equal addresses are equal text. Returns a
/// name in lower case without a final dot.
std::string canonical(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, text.c_str(), bytes.data()) == 1)
      return ::inet_ntop(family, bytes.data(), out.data(), out.size());
  }
  return name_as_compared(text);
}

bool is_own_pod(const std::string& name, const OwnNames& own) {
  if (is_address(name)) return false;
  if (!own.full_name.empty()) return (own.full_name + ".").starts_with(name + ".");
  return own.by_label && !own.names.empty() && first_label(name) == first_label(own.names.front());
}

}  // namespace

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
  if (name) own.full_name = fmt::format("{}.{}", name->host, name->tail());
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
