// MASTER_ADDR, MASTER_PORT and the network behind them.
#include "launcher/cli/options_master.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

constexpr int kMostPorts = 65535;

/// A numeric address, or a name that could be one of a host: no port, no URL.
std::string address_value(const GivenOption& given) {
  const bool is_name =
      !given.value.empty() && given.value.front() != '-' &&
      std::all_of(given.value.begin(), given.value.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c >= 0x80;
      });
  if (!is_name && !parse_address(given.value))
    usage_error(
        fmt::format("{} needs an address or a host name, not '{}'", given.name, given.value),
        "as in 10.0.0.1, fd00::1 or node01; the port is given by --master-port");
  return given.value;
}

constexpr OptionDef<MasterWish> kMasterOptions[] = {
    {{"--iface", "NAME|NETWORK",
      "interface of every node that ranks shall use: by its name (eth1) or\n"
      "by its network (10.1.0.0/16); limits MASTER_ADDR, and sets\n"
      "GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME unless they are set"},
     [](MasterWish& part, const GivenOption& given) {
       part.iface = InterfaceWish::parse(given.value);
       if (!part.iface)
         usage_error(
             fmt::format("{} needs an interface or a network, not '{}'", given.name, given.value),
             "as in eth1, 10.1.0.0/16 or fd00:1::/64");
     }},
    {{"--master-addr", "ADDRESS",
      "MASTER_ADDR, not tested (default: an address of the first node that\n"
      "all others have reached)"},
     [](MasterWish& part, const GivenOption& given) { part.address = address_value(given); }},
    {{"--master-port", "PORT", "MASTER_PORT (default: any that is free on the first node)"},
     [](MasterWish& part, const GivenOption& given) {
       part.port = static_cast<std::uint16_t>(number_value(given, 1, kMostPorts));
     }},
};

}  // namespace

std::span<const OptionDef<MasterWish>> master_options() { return kMasterOptions; }

}  // namespace ds::launcher
