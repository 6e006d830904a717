// Parsers of addresses, networks and interfaces; compares addresses as 128-bit values.
#include "launcher/hosts/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace ds::launcher {
namespace {

constexpr std::uint32_t kMappedBits = 96;
constexpr std::size_t kMappedBytes = 12;
constexpr std::size_t kLongestInterface = 15;  // limit of the kernel

bool in(const AddressBytes& address, std::string_view network) {
  return Network::parse(network)->contains(address);
}

}  // namespace

std::optional<AddressBytes> parse_address(const std::string& text) {
  AddressBytes bytes{};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  if (::inet_pton(AF_INET, text.c_str(), bytes.data() + kMappedBytes) != 1) return std::nullopt;
  bytes[kMappedBytes - 2] = bytes[kMappedBytes - 1] = 0xFF;
  return bytes;
}

bool is_v4(const AddressBytes& address) {
  constexpr AddressBytes kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return std::equal(address.begin(), address.begin() + kMappedBytes, kMapped.begin());
}

AddressKind kind_of(const AddressBytes& address) {
  if (in(address, "127.0.0.0/8") || in(address, "::1/128")) return AddressKind::loopback;
  if (in(address, "169.254.0.0/16")) return AddressKind::link_local_v4;
  if (in(address, "fe80::/10")) return AddressKind::link_local_v6;
  return AddressKind::usual;
}

Network::Network(const AddressBytes& address, std::uint32_t bits)
    : address_(address), bits_(is_v4(address) ? bits + kMappedBits : bits) {}

std::optional<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<AddressBytes> address = parse_address(std::string(text.substr(0, slash)));
  const std::string_view number = text.substr(slash + 1);
  std::uint32_t bits = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, bits);
  if (!address || number.empty() || stop != end || error != std::errc()) return std::nullopt;
  if (bits > (is_v4(*address) ? 32U : 128U)) return std::nullopt;
  return Network(*address, bits);
}

bool Network::contains(const AddressBytes& address) const {
  const std::size_t whole = bits_ / 8;
  if (std::memcmp(address_.data(), address.data(), whole) != 0) return false;
  return bits_ % 8 == 0 || (address_[whole] ^ address[whole]) >> (8 - bits_ % 8) == 0;
}

std::optional<InterfaceChoice> InterfaceChoice::parse(const std::string& text) {
  if (text.find('/') != std::string::npos) {
    const std::optional<Network> network = Network::parse(text);
    if (!network) return std::nullopt;
    return InterfaceChoice{.text = text, .network = network};
  }
  const bool printable = std::all_of(text.begin(), text.end(),
                                     [](char c) { return c > ' ' && c < '\x7f' && c != ','; });
  const bool is_name = !text.empty() && text.size() <= kLongestInterface && printable;
  if (!is_name || parse_address(text)) return std::nullopt;
  return InterfaceChoice{.text = text};
}

bool InterfaceChoice::fits(const std::string& interface, const std::string& address) const {
  if (!network) return interface == text;
  const std::optional<AddressBytes> bytes = parse_address(address);
  return bytes && network->contains(*bytes);
}

}  // namespace ds::launcher
