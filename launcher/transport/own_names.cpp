// Asks the kernel for names and addresses; no name server is involved.
#include "launcher/transport/own_names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace ds::launcher {

namespace {

std::string to_lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// An address in the spelling of inet_ntop, so that equal ones are equal texts; names as they are.
std::string canonical(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, text.c_str(), bytes.data()) == 1)
      return ::inet_ntop(family, bytes.data(), out.data(), out.size());
  }
  return to_lower(text);
}

}  // namespace

OwnNames own_names() {
  OwnNames own;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') {
    const std::string full = to_lower(name.data());
    own.names = {full, full.substr(0, full.find('.'))};
  }
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return own;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    if (entry->ifa_addr->sa_family == AF_INET)
      bytes = &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr;
    else if (entry->ifa_addr->sa_family == AF_INET6)
      bytes = &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    else
      continue;
    if (::inet_ntop(entry->ifa_addr->sa_family, bytes, text.data(), text.size()) != nullptr)
      own.addresses.emplace_back(text.data());
  }
  ::freeifaddrs(list);
  return own;
}

bool is_own_host(const Host& host, const OwnNames& own) {
  if (!host.user.empty() || host.port != 0) return false;
  const std::string name = canonical(host.address.empty() ? host.name : host.address);
  if (name == "localhost" || name == "127.0.0.1" || name == "::1") return true;
  return std::ranges::find(own.names, name) != own.names.end() ||
         std::ranges::find(own.addresses, name) != own.addresses.end();
}

}  // namespace ds::launcher
