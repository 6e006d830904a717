// Tests of the names and addresses of this machine.
#include "launcher/sources/own_names.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace ds::launcher;

namespace {
Host host(const std::string& name, const std::string& user = "", int port = 0) {
  Host out;
  out.name = name;
  out.user = user;
  out.port = port;
  return out;
}
}  // namespace

TEST_CASE("localhost, own names and own addresses are local; all else goes by ssh") {
  const OwnNames own{{"login1.example", "login1"}, {"127.0.0.1", "10.0.0.5", "2001:db8::5"}};
  for (const char* name : {"localhost", "LOCALHOST", "127.0.0.1", "::1", "login1", "Login1.Example",
                           "10.0.0.5", "2001:DB8:0::5"}) {
    INFO(name);
    CHECK(is_own_host(host(name), own));
  }
  for (const char* name : {"login2", "login1.other", "127.0.0.2", "10.0.0.6", "2001:db8::6"}) {
    INFO(name);
    CHECK_FALSE(is_own_host(host(name), own));
  }
}

TEST_CASE("a user or a port asks for ssh") {
  CHECK_FALSE(is_own_host(host("localhost", "root"), {}));
  CHECK_FALSE(is_own_host(host("localhost", "", 22), {}));
}

TEST_CASE("this machine has a name and the address 127.0.0.1") {
  const OwnNames own = own_names();
  CHECK_FALSE(own.names.empty());
  CHECK(std::find(own.addresses.begin(), own.addresses.end(), "127.0.0.1") != own.addresses.end());
}
