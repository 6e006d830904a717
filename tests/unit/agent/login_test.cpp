// Tests how home directory and login shell are found.
#include <doctest/doctest.h>

#include "launcher/agent/process_settings.h"

using namespace ds::launcher;

TEST_CASE("the environment wins, then the passwd file, then what every system has") {
  const std::string_view passwd =
      "root:x:0:0:root:/root:/bin/bash\n"
      "ann:x:1000:1000:Ann,,,:/home/ann:/usr/bin/fish\n"
      "short:x:1001\n"
      "last:x:1002:1002::/home/last:";
  const auto find = [&](const EnvList& env, uid_t user) {
    const Login login = find_login(env, passwd, user);
    return login.home + " " + login.shell;
  };
  CHECK(find({{"HOME", "/h"}, {"SHELL", "/bin/zsh"}}, 1000) == "/h /bin/zsh");
  CHECK(find({}, 1000) == "/home/ann /usr/bin/fish");
  CHECK(find({{"HOME", "/h"}}, 1000) == "/h /usr/bin/fish");
  CHECK(find({{"HOME", ""}, {"SHELL", ""}}, 0) == "/root /bin/bash");
  CHECK(find({}, 1001) == "/ /bin/sh");
  CHECK(find({}, 1002) == "/home/last /bin/sh");
  CHECK(find({}, 4711) == "/ /bin/sh");
}

TEST_CASE("a program asks for home and shell, or gets neither") {
  const EnvList env = {{"HOME", "/h"}, {"SHELL", "/bin/zsh"}};
  ProgramSpec plain{.argv = {"echo", "$HOME"}};
  resolve_login(plain, env);
  CHECK(plain == ProgramSpec{.argv = {"echo", "$HOME"}});
  ProgramSpec shell{.argv = {"echo $HOME"}, .at_home = true, .login_shell = true};
  resolve_login(shell, env);
  CHECK(shell.argv == std::vector<std::string>{"/bin/zsh", "-c", "echo $HOME"});
  CHECK(shell.cwd == "/h");
  ProgramSpec elsewhere{.argv = {"pwd"}, .cwd = "/tmp", .at_home = true};
  resolve_login(elsewhere, env);
  CHECK(elsewhere.cwd == "/tmp");
  CHECK(elsewhere.argv == std::vector<std::string>{"pwd"});
}
