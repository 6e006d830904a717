// Options of the rendezvous: MASTER_ADDR, MASTER_PORT and the network interface.
#include "launcher/cli/options_master.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

constexpr int kMostPorts = 65535;

/// Reads a numeric address or a possible host name; refuses a port or a URL.
std::string address_value(const GivenOption& given) {
  const bool is_name =
      !given.value.empty() && given.value.front() != '-' &&
      std::all_of(given.value.begin(), given.value.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c >= 0x80;
      });
  if (!is_name && !parse_address(given.value))
    usage_error(
        fmt::format("{} must be an address or a host name, not '{}'", given.name, given.value),
        "for example 10.0.0.1, fd00::1 or node01; give the port with --master-port");
  return given.value;
}

constexpr OptionDef<MasterRequest> kMasterOptions[] = {
    {{"--iface", "NAME|NETWORK",
      "Network interface of every node that ranks use: a name (eth1) or a\n"
      "network (10.1.0.0/16); limits MASTER_ADDR, and sets\n"
      "GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME unless they are set"},
     [](MasterRequest& part, const GivenOption& given) {
       part.iface = InterfaceChoice::parse(given.value);
       if (!part.iface)
         usage_error(
             fmt::format("{} must be an interface or a network, not '{}'", given.name, given.value),
             "for example eth1, 10.1.0.0/16 or fd00:1::/64");
     }},
    {{"--master-addr", "ADDRESS",
      "Set MASTER_ADDR, without a test (default: an address of the first node\n"
      "that all others have reached)"},
     [](MasterRequest& part, const GivenOption& given) { part.address = address_value(given); }},
    {{"--master-port", "PORT", "Set MASTER_PORT (default: a free port on the first node)"},
     [](MasterRequest& part, const GivenOption& given) {
       part.port = static_cast<std::uint16_t>(number_value(given, 1, kMostPorts));
     }},
};

}  // namespace

std::span<const OptionDef<MasterRequest>> master_options() { return kMasterOptions; }

}  // namespace ds::launcher
