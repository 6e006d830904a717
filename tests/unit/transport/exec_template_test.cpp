// Tests --transport exec:CMD: splitting CMD into words, filling in its tokens, kubexec.sh.
#include "launcher/transport/exec/exec_template.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

using namespace ds::launcher;

namespace {

using Words = std::vector<std::string>;

Host host(const std::string& name, const std::string& user = "", int port = 0) {
  Host out;
  out.name = name;
  out.user = user;
  out.port = port;
  return out;
}

Words filled(const std::string& text, const Host& of) {
  return fill_exec_template(parse_exec_template(text), of, "me", "/bin/sh -c 'x'");
}

std::string message(const std::string& text, const Host& of) {
  try {
    (void)filled(text, of);
  } catch (const ds::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("words are cut as a shell cuts them, and nothing else of a shell is there") {
  CHECK(parse_exec_template("ssh  -o 'A B' \"c\\\"d\" e\\ f \\'g") ==
        Words{"ssh", "-o", "A B", "c\"d", "e f", "'g"});
  CHECK(parse_exec_template("a $HOME `x` ; * | '' ~") ==
        Words{"a", "$HOME", "`x`", ";", "*", "|", "", "~"});
  CHECK(parse_exec_template("'a\\b' \"c d\"e'f g'") == Words{"a\\b",
                                                             "c de"
                                                             "f g"});
}

TEST_CASE("tokens: each value stays within its word; the command is the last word by default") {
  CHECK(filled("ssh {host}", host("n1")) == Words{"ssh", "n1", "/bin/sh -c 'x'"});
  CHECK(filled("ssh -p {port} -l {user} {host}", host("n1", "bob", 2222)) ==
        Words{"ssh", "-p", "2222", "-l", "bob", "n1", "/bin/sh -c 'x'"});
  CHECK(filled("ssh {user}@{addr}:{port}", host("n1")) ==
        Words{"ssh", "me@n1:22", "/bin/sh -c 'x'"});
  CHECK(filled("kubectl exec -i {host} -- sh -c {command}", host("pod-0")) ==
        Words{"kubectl", "exec", "-i", "pod-0", "--", "sh", "-c", "/bin/sh -c 'x'"});
  // Values are not looked at again for tokens, and no shell sees them.
  CHECK(filled("p {host}", host("{user};reboot")) == Words{"p", "{user};reboot", "/bin/sh -c 'x'"});
  Host by_address = host("n1");
  by_address.address = "10.0.0.1";
  CHECK(filled("ssh -o HostKeyAlias={host} {addr}", by_address) ==
        Words{"ssh", "-o", "HostKeyAlias=n1", "10.0.0.1", "/bin/sh -c 'x'"});
}

TEST_CASE("what the hostfile gives is not dropped in silence, and no value becomes an option") {
  CHECK(message("ssh {host}", host("n1", "bob")) ==
        "n1: the hostfile gives it user bob, but --transport exec has no {user}");
  CHECK(message("ssh {host}", host("n1", "", 23)).find("n1: the hostfile gives it port 23") == 0);
  Host by_address = host("n1");
  by_address.address = "10.0.0.1";
  CHECK(message("ssh {host}", by_address).find("has no {addr}") != std::string::npos);
  CHECK(message("ssh {host}", host("-oProxyCommand=x")).find("would be an option") !=
        std::string::npos);
}

TEST_CASE("templates that make no sense") {
  CHECK(message("", host("n")) == "--transport exec: the program is missing");
  CHECK(message("'' a", host("n")) == "--transport exec: the program is missing");
  CHECK(message("ssh 'a", host("n")) == "--transport exec: a quote is not closed");
  CHECK(message("ssh {hosts}", host("n")) == "--transport exec: '{hosts}' is not a token");
  CHECK(message("ssh {", host("n")) == "--transport exec: '{' is not a token");
}

TEST_CASE("without a token the program is an rsh agent") {
  CHECK(filled("/etc/mpi/kubexec.sh", host("w-0")) ==
        Words{"/etc/mpi/kubexec.sh", "w-0", "/bin/sh -c 'x'"});
  CHECK(filled("ssh -q", host("w-0")) == Words{"ssh", "-q", "w-0", "/bin/sh -c 'x'"});
  CHECK(message("kubexec.sh", host("-rf")).find("would be an option") != std::string::npos);
}

TEST_CASE("kubexec.sh: its kubectl, with -i") {
  CHECK(is_kubexec("/etc/mpi/kubexec.sh"));
  CHECK_FALSE(is_kubexec("/usr/bin/ssh"));
  CHECK_FALSE(is_kubexec("/etc/mpi/kubexec.sh.old"));
  const auto words = kubexec_words(
      "#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n"
      "/opt/kube/kubectl exec ${POD_NAME} --container et -- /bin/sh -c \"$*\"");
  REQUIRE(words);
  CHECK(*words == Words{"/opt/kube/kubectl", "exec", "-i", "{host}", "--container", "et", "--",
                        "/bin/sh", "-c", "{command}"});
  CHECK(fill_exec_template(*words, host("w-0"), "me", "run it") ==
        Words{"/opt/kube/kubectl", "exec", "-i", "w-0", "--container", "et", "--", "/bin/sh", "-c",
              "run it"});
  CHECK(kubexec_words("exec kubectl exec $1 -- sh -c \"$*\"\r\n"));
  // Its own -i, another form, no kubectl at all: run as it is.
  CHECK_FALSE(kubexec_words("kubectl exec -i ${POD_NAME} -- /bin/sh -c \"$*\""));
  CHECK_FALSE(kubexec_words("kubectl exec -ti ${POD_NAME} -- /bin/sh -c \"$*\""));
  CHECK_FALSE(kubexec_words("kubectl exec --stdin ${POD_NAME} -- /bin/sh -c \"$*\""));
  CHECK_FALSE(kubexec_words("kubectl exec ${POD_NAME} -n $NAMESPACE -- /bin/sh -c \"$*\""));
  CHECK_FALSE(kubexec_words("kubectl exec ${POD_NAME} -- \"$*\" | tee log"));
  CHECK_FALSE(kubexec_words("kubectl exec ${POD_NAME}"));
  CHECK_FALSE(kubexec_words("kubectl exec"));
  CHECK_FALSE(kubexec_words("nsenter $1\n\n"));
  CHECK_FALSE(kubexec_words(""));
}
