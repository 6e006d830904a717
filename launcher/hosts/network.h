// Numeric addresses and networks, and the options --iface, --master-addr and --master-port. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds::launcher {

/// 128-bit address; an IPv4 address is a mapped IPv6 address.
using AddressBytes = std::array<unsigned char, 16>;

/// Parses a numeric address. Returns nothing for a name or any other text.
std::optional<AddressBytes> parse_address(const std::string& text);

enum class AddressKind {
  usual,
  link_local_v4,  // 169.254/16
  link_local_v6,  // fe80::/10; meaningless without the name of an interface
  loopback        // 127/8, ::1
};
AddressKind kind_of(const AddressBytes& address);
bool is_v4(const AddressBytes& address);

/// Network such as 10.1.0.0/16.
class Network {
 public:
  /// `bits` counts within the address family. Bits of `address` beyond them are ignored.
  Network(const AddressBytes& address, std::uint32_t bits);
  static std::optional<Network> parse(std::string_view text);

  [[nodiscard]] bool contains(const AddressBytes& address) const;
  friend bool operator==(const Network&, const Network&) = default;

 private:
  AddressBytes address_{};
  std::uint32_t bits_ = 0;  // counts within 128 bits
};

/// Value of --iface: an interface name, or a network that contains an address of the interface.
struct InterfaceChoice {
  std::string text{};  // as typed
  std::optional<Network> network{};

  /// Returns nothing if `text` is neither a name nor a network.
  static std::optional<InterfaceChoice> parse(const std::string& text);
  [[nodiscard]] bool fits(const std::string& interface, const std::string& address) const;
  friend bool operator==(const InterfaceChoice&, const InterfaceChoice&) = default;
};

/// Options of the rendezvous.
struct MasterRequest {
  std::string address{};                   // MASTER_ADDR; empty: chosen by dslaunch
  std::uint16_t port = 0;                  // MASTER_PORT; 0: any free port
  std::optional<InterfaceChoice> iface{};  // on every node
  friend bool operator==(const MasterRequest&, const MasterRequest&) = default;
};

}  // namespace ds::launcher
