// Tests ProxyJump and ProxyCommand: their values, and the route to a host.
#include <doctest/doctest.h>

#include "launcher/transport/ssh_config/ssh_config.h"
#include "unit/transport/ssh_config_helpers.h"

using namespace ds::launcher;

namespace {
std::string route_text(const std::string& text, const std::string& name) {
  const SshRoute route = plan_route(config(text), host(name), me());
  std::string out;
  for (const SshSettings& hop : route.jumps) out += hop.alias + ">";
  return out + route.target.alias;
}
}  // namespace

TEST_CASE("routes: chains, jumps of jumps, a jump host that would jump through itself") {
  CHECK(route_text("", "n1") == "n1");
  CHECK(route_text("Host n*\nProxyJump a,b\n", "n1") == "a>b>n1");
  CHECK(route_text("Host n*\nProxyJump a,b\nHost a\nProxyJump z\nHost b\nProxyJump y\n", "n1") ==
        "z>a>b>n1");
  CHECK(route_text("ProxyJump gate\n", "n1") == "gate>n1");
  CHECK(route_text("ProxyJump gate\n", "gate") == "gate");
  const char* circle = "Host a\nProxyJump b\nHost b\nProxyJump a\n";
  CHECK_THROWS_AS(plan_route(config(circle), host("a"), me()), ds::Error);
  const SshRoute route = plan_route(
      config("Host n*\nProxyJump a,b\nHost a b\nProxyCommand nc %h\n"), host("n1"), me());
  CHECK(route.jumps[0].proxy_command == "nc a");
  CHECK(route.jumps[1].proxy_command.empty());
  CHECK(route_key(route.jumps) != route_key(std::span(route.jumps).first(1)));
}

TEST_CASE("ProxyJump and ProxyCommand: the first of both counts, tokens, none") {
  const SshSettings s = settings("ProxyJump bob@gate:2222,[fd00::1]:7,ssh://x@last\n", "n1");
  REQUIRE(s.jumps.size() == 3);
  CHECK((s.jumps[0].user == "bob" && s.jumps[0].name == "gate" && s.jumps[0].port == 2222));
  CHECK((s.jumps[1].user.empty() && s.jumps[1].name == "fd00::1" && s.jumps[1].port == 7));
  CHECK((s.jumps[2].user == "x" && s.jumps[2].name == "last" && s.jumps[2].port == 0));
  CHECK(settings("ProxyJump gate-%n\n", "n1").jumps.front().name == "gate-n1");
  CHECK(settings("ProxyCommand nc -q \"0 1\" %h %p # 100%%\n", "n1").proxy_command ==
        "nc -q \"0 1\" n1 22 # 100%");
  CHECK(settings("Host n1\nProxyJump none\nHost *\nProxyCommand x\n", "n1").proxy_command.empty());
  CHECK(settings("ProxyCommand x\nProxyJump y\n", "n1").jumps.empty());
  CHECK(message("ProxyJump a,,b\n").find("config:1: ProxyJump '': not a host name") == 0);
  CHECK(message("ProxyJump a:ssh\n").find("config:1: ProxyJump 'a:ssh': the port") == 0);
  CHECK(message("User a;b\nProxyCommand nc %r\n").find("config:2: the value of %r here") == 0);
}
