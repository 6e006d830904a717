// Numeric addresses and networks: what kind they are, and which contains which. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds::launcher {

/// IPv4 as a mapped IPv6 address.
using AddressBytes = std::array<unsigned char, 16>;

/// Empty: it is a name, or nothing at all.
std::optional<AddressBytes> parse_address(const std::string& text);

enum class AddressKind {
  usual,
  link_local_v4,  // 169.254/16
  link_local_v6,  // fe80::/10: means nothing without the name of an interface
  loopback        // 127/8, ::1
};
AddressKind kind_of(const AddressBytes& address);
bool is_v4(const AddressBytes& address);

/// 10.1.0.0/16.
class Network {
 public:
  /// `bits` of its own family. Bits of `address` behind them mean nothing.
  Network(const AddressBytes& address, std::uint32_t bits);
  static std::optional<Network> parse(std::string_view text);

  [[nodiscard]] bool contains(const AddressBytes& address) const;
  friend bool operator==(const Network&, const Network&) = default;

 private:
  AddressBytes address_{};
  std::uint32_t bits_ = 0;  // of the 128
};

/// --iface: an interface by its name, or the one that has an address in a network.
struct InterfaceWish {
  std::string text{};  // as typed
  std::optional<Network> network{};

  /// Empty: neither a name nor a network.
  static std::optional<InterfaceWish> parse(const std::string& text);
  [[nodiscard]] bool fits(const std::string& interface, const std::string& address) const;
  friend bool operator==(const InterfaceWish&, const InterfaceWish&) = default;
};

}  // namespace ds::launcher
