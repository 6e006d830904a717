// pdcp and rpdcp: their options, targets and refusals.
#include "unit/disguise/disguise_helpers.h"

using namespace ds::launcher;
using ds::test::join;
using ds::test::refused;
using ds::test::translate;
using ds::test::Variables;

namespace {

std::string words(const std::string& line, const Variables& variables = {},
                  const ds::test::Files& files = {}) {
  return join(translate(line, variables, 0, files).words);
}

}  // namespace

TEST_CASE("pdcp: options, also several in one word") {
  CHECK(words("pdcp -w n1 a b") == "copy -w n1 a b");
  CHECK(words("pdcp -w n[1-3] -x n2 -r -p -u 20 -t 3 -l bob a b c/") ==
        "copy -r -p --connect-timeout 3 -u 20 -l bob -w n[1,3] a b c/");
  CHECK(words("pdcp -rpwn1 -R ssh -e /opt/pdcp -bdNK a b") == "copy -r -p -w n1 a b");
  CHECK(words("rpdcp -w n1,ann@n2 -r logs .") == "rcopy -r -w n1,ann@n2 logs .");
  CHECK(words("pdcp -w n1 -- -a b") == "copy -w n1 ./-a b");
  CHECK(translate("pdcp -f 64 -w n1 a b").notes ==
        std::vector<std::string>{"-f has no effect: all nodes at the same time; see --fanout of "
                                 "dslaunch copy"});
  CHECK(translate("pdcp -w x -h").text->starts_with("dslaunch as pdcp: "));
  CHECK(translate("rpdcp -h").text->find("Usage: rpdcp [options] SOURCE... FOLDER") !=
        std::string::npos);
  CHECK(translate("pdcp -w x -V").text.has_value());
}

TEST_CASE("pdcp: targets and variables are those of pdsh") {
  CHECK(words("pdcp -g web a b", {}, {{"/etc/dsh/group/web", "web[1-2]\n"}}) ==
        "copy -w web[1-2] a b");
  CHECK(words("pdcp a b", {{"WCOLL", "hosts"}}, {{"hosts", "n1\nn3\n"}}) == "copy -w n[1,3] a b");
  CHECK(words("pdcp -w n1 a b",
              {{"FANOUT", "5"}, {"PDSH_CONNECT_TIMEOUT", "3"}, {"PDSH_COMMAND_TIMEOUT", "4"}}) ==
        "copy --connect-timeout 3 -u 4 -w n1 a b");
  CHECK(words("pdcp -w n1 a b", {{"PDSH_SSH_ARGS_APPEND", "-q -p 2222 -F cfg -l eve"}}) ==
        "copy --ssh-config cfg -l eve -w n1:2222 a b");
}

TEST_CASE("pdcp: what cannot be") {
  CHECK(refused("pdcp -w n1 a") ==
        "pdcp: a source or the target is missing\n  hint: for example: pdcp -w node[01-16] "
        "data.bin /tmp");
  CHECK(refused("rpdcp a b").starts_with("rpdcp: no remote hosts specified\n"));
  CHECK(refused("pdcp -R exec -w n1 a b") ==
        "pdcp: the rcmd type 'exec' is not supported\n  hint: use -R ssh");
  CHECK(refused("pdcp -w n1 a b", {{"PDSH_RCMD_TYPE", "rsh"}}) ==
        "pdcp: the rcmd type 'rsh' is not supported\n  hint: use -R ssh");
  CHECK(refused("pdcp -w ssh:n1,mrsh:n2 a b") ==
        "pdcp: n1 is reached by ssh, n2 by mrsh\n  hint: use one pdcp for the hosts of each rcmd "
        "type");
  CHECK(refused("pdcp -w n[1 a b").starts_with("pdcp: -w 'n[1': "));
  CHECK(refused("pdcp -u x -w n1 a b").starts_with("pdcp: -u must be a number from 0 to "));
  for (const std::string option : {"-q", "-Q", "-L", "-S", "-k", "-y", "-z", "-Z"})
    CHECK(refused("pdcp " + option + " -w n1 a b").starts_with("pdcp: " + option));
}
