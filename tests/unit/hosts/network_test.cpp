// Tests of addresses and networks.
#include "launcher/hosts/network.h"

#include <doctest/doctest.h>

using namespace ds::launcher;

namespace {

bool in(const char* network, const char* address) {
  return Network::parse(network).value().contains(parse_address(address).value());
}

}  // namespace

TEST_CASE("networks contain what begins as they do") {
  CHECK(in("10.1.0.0/16", "10.1.255.3"));
  CHECK(in("10.1.7.7/16", "10.1.0.1"));
  CHECK_FALSE(in("10.1.0.0/16", "10.2.0.1"));
  CHECK(in("10.1.0.0/15", "10.0.0.1"));
  CHECK(in("0.0.0.0/0", "8.8.8.8"));
  CHECK_FALSE(in("0.0.0.0/0", "fd00::1"));
  CHECK(in("10.0.0.3/32", "10.0.0.3"));
  CHECK_FALSE(in("10.0.0.3/32", "10.0.0.2"));
  CHECK(in("fd00:1::/33", "fd00:1:7fff::1"));
  CHECK_FALSE(in("fd00:1::/33", "fd00:1:8000::1"));
}

TEST_CASE("kinds of addresses") {
  const auto kind = [](const char* text) { return kind_of(parse_address(text).value()); };
  CHECK(kind("127.9.9.9") == AddressKind::loopback);
  CHECK(kind("::1") == AddressKind::loopback);
  CHECK(kind("169.254.0.1") == AddressKind::link_local_v4);
  CHECK(kind("fe80::1") == AddressKind::link_local_v6);
  CHECK(kind("10.0.0.1") == AddressKind::usual);
  CHECK(kind("fd00::1") == AddressKind::usual);
  CHECK(is_v4(*parse_address("10.0.0.1")));
  CHECK_FALSE(is_v4(*parse_address("::2")));
}

TEST_CASE("--iface takes the name of an interface or a network, and nothing else") {
  for (const char* good : {"eth0", "enp1s0f0np0", "bond0.12", "10.0.0.0/8", "fd00::/64"})
    CHECK(InterfaceChoice::parse(good));
  for (const char* bad : {"", "10.0.0.1", "fd00::1", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "/8",
                          "fd00::/129", "eth0,eth1", "a b", "averylongname0123", "10.0.0.0/8x"})
    CHECK_FALSE(InterfaceChoice::parse(bad));
}
