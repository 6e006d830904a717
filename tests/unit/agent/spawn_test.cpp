// Tests what the start of a rank is made from: environment, PATH, CPU quota, remote command.
#include <doctest/doctest.h>

#include <algorithm>

#include "launcher/agent/node_facts.h"
#include "launcher/agent/shim.h"
#include "launcher/transport/agent_command.h"

using namespace ds::launcher;

TEST_CASE("later lists of variables win, and names come out once") {
  const EnvList inherited = {{"PATH", "/bin"}, {"A", "1"}};
  const EnvList node = {{"A", "2"}, {"B", "x"}};
  const EnvList rank = {{"B", ""}, {"RANK", "0"}};
  CHECK(merge_env({&inherited, &node, &rank}) ==
        EnvList{{"PATH", "/bin"}, {"A", "2"}, {"B", ""}, {"RANK", "0"}});
}

TEST_CASE("programs are looked for in the rank's own PATH") {
  using Files = std::vector<std::string>;
  CHECK(exec_candidates("./x", {{"PATH", "/a"}}) == Files{"./x"});
  CHECK(exec_candidates("x", {{"PATH", "/a:/b/c"}}) == Files{"/a/x", "/b/c/x"});
  CHECK(exec_candidates("x", {{"PATH", ":/a"}}) == Files{"./x", "/a/x"});
  CHECK(exec_candidates("x", {}) == Files{"/usr/local/bin/x", "/usr/bin/x", "/bin/x"});
  CHECK(exec_candidates("", {}).empty());
}

TEST_CASE("the remote command is one line of single quotes that every shell takes alike") {
  for (const char* path : {"/opt/ds/bin/dslaunch", "/a b/$x/`y`/it's/d!", "/\xc3\xa9\n/\"\\"}) {
    const std::string command = remote_agent_command(path);
    CAPTURE(command);
    CHECK(std::count(command.begin(), command.end(), '\'') == 2);
    CHECK(command.find_first_of("!\n`") == std::string::npos);
    CHECK(command.ends_with("exec \"$q\" agent'"));
  }
  CHECK(direct_agent_command("/opt/d-1.2/x_y+z") == "/opt/d-1.2/x_y+z agent");
  for (const char* other : {"/a b", "dslaunch", "/a=b", "/~x", "/a\nb", "", "/%d", "/a:b"}) {
    CAPTURE(other);
    CHECK(direct_agent_command(other).empty());
  }
  CHECK(remote_agent_command("/opt/d").find("p=\"/opt/d\";") != std::string::npos);
}
