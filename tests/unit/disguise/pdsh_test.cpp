// pdsh: its options, its targets and their order, and the settings that -q prints.
#include "unit/disguise/disguise_helpers.h"

using namespace ds::launcher;
using ds::test::Files;
using ds::test::join;
using ds::test::refused;
using ds::test::translate;
using ds::test::Variables;

namespace {

/// Returns the words after the ones that every translation has.
std::string pdsh(const std::string& line, const Variables& variables = {},
                 const Files& files = {}) {
  const std::string words = join(translate("pdsh " + line, variables, 0, files).words);
  const std::string common = "exec --style pdsh -n --leave -f 32 ";
  return words.starts_with(common) ? words.substr(common.size()) : words;
}

/// Returns the targets.
std::string targets(const std::string& line, const Variables& variables = {},
                    const Files& files = {}) {
  const std::string text = *translate("pdsh -Q " + line, variables, 0, files).text;
  const std::size_t begin = text.find("-- Target nodes --\n") + 19;
  return text.substr(begin, text.size() - begin - 1);
}
std::string failure(const std::string& line, const Files& files = {}) {
  try {
    translate("pdsh " + line, {}, 0, files);
  } catch (const ds::Error& error) {
    return error.what();
  }
  return "none";
}

const Files kFiles = {{"hosts", "# x\nn1, n2\n n[3-4] # y\n#include more\n#include /all\n"},
                      {"./more", "m1\n"},
                      {"/all", "m[1-2]"},
                      {"-", "in1\nin2\n"},
                      {"/etc/dsh/group/web", "web[1-2]\n"},
                      {"/etc/dsh/group/login", "not-of-genders\n"},
                      {"/g/genders",
                       "node[10,1-3] compute,altname=%n-ib\nold1 compute,pdsh_all_skip\nb1 login\n"
                       "a1 login,pdsh_rcmd_type=bob@ssh\n"}};
const Variables kGenders = {{"PDSH_GENDERS_DIR", "/g"}};

}  // namespace

TEST_CASE("pdsh: options, also several in one word") {
  CHECK(pdsh("-w n1 hostname") == "-w n1 -- hostname");
  CHECK(pdsh("-w n[1-3] -S -k -N -u 20 -t 3 -l bob ls -l") ==
        "-t 3 -u 20 -l bob -S -k -N -w n[1-3] -- ls -l");
  CHECK(pdsh("-SNwn1 -f8 -u20 x") == "exec --style pdsh -n --leave -f 8 -u 20 -S -N -w n1 -- x");
  CHECK(pdsh("-bdK -w n1 x") == "exec --style pdsh,batch,full,times -n --leave -f 32 -w n1 -- x");
  CHECK(pdsh("-R exec -w n1 echo %h") == "--here -w n1 -- echo %h");
  CHECK(pdsh("-w n1 -- -x") == "-w n1 -- -x");
  CHECK(pdsh("-R exec -w n1") == "--here -w n1 -- sh -c");
  CHECK(translate("pdsh -w n1").prompt == "pdsh> ");
  CHECK(translate("pdsh -M a,b -w n1 x").notes ==
        std::vector<std::string>{"-M has no effect: dslaunch has no modules"});
  CHECK(translate("pdsh -V").text->find("rcmd modules: ssh,exec") != std::string::npos);
  CHECK(translate("pdsh -w x -h").text->starts_with("dslaunch as pdsh: "));
}

TEST_CASE("pdsh: as DeepSpeed calls it") {
  CHECK(pdsh("-S -f 1024 -w worker-0,worker-1 export A=b; cd /x; python3 -u run --node_rank=%n") ==
        "exec --style pdsh -n --leave -f 1024 -S -w worker-[0-1] -- export A=b; cd /x; python3 -u "
        "run --node_rank=%n");
}

TEST_CASE("pdsh: variables") {
  CHECK(pdsh("-w n1 x", {{"FANOUT", "5"}}) == "exec --style pdsh -n --leave -f 5 -w n1 -- x");
  CHECK(pdsh("-w n1 x", {{"PDSH_CONNECT_TIMEOUT", "3"}, {"PDSH_COMMAND_TIMEOUT", "4"}}) ==
        "-t 3 -u 4 -w n1 -- x");
  CHECK(pdsh("-w n1 x", {{"PDSH_RCMD_TYPE", "exec"}}) == "--here -w n1 -- x");
  CHECK(pdsh("-w n1 x", {}, {{"/etc/pdsh/rcmd_default", "exec\n"}}) == "--here -w n1 -- x");
  CHECK(pdsh("-w n1 x y", {{"DSHPATH", "/a:/b"}}) == "-w n1 -- PATH=/a:/b; x y");
  CHECK(pdsh("-w n1 x", {{"DSHPATH", "/a"}, {"SHELL", "/bin/tcsh"}}) ==
        "-w n1 -- setenv PATH /a; x");
  CHECK(pdsh("-w n1 x", {{"PDSH_SSH_ARGS_APPEND", "-q -p 2222 -F cfg -oUserKnownHostsFile=k"}}) ==
        "--ssh-config cfg --known-hosts k -w n1:2222 -- x");
  CHECK(pdsh("-w n1 x", {{"PDSH_SSH_ARGS", "-2 -a -x -lbob %h"}}) == "-l bob -w n1 -- x");
  CHECK(translate("pdsh -w n1 x", {{"PDSH_SSH_ARGS", "-o StrictHostKeyChecking=no -g -i key"}})
            .notes.size() == 3);
}

TEST_CASE("pdsh: targets") {
  CHECK(targets("-w foo[01-03],bar") == "foo01,foo02,foo03,bar");
  CHECK(targets("-w foo[0-1]n[1-2]-eth0") == "foo0n1-eth0,foo0n2-eth0,foo1n1-eth0,foo1n2-eth0");
  CHECK(targets("-w n[1-9],-n[2-8]") == "n1,n9");
  CHECK(targets("-w n[1-9] -x n[2-8]") == "n1,n9");
  CHECK(targets("-w n[1-12],/1$/") == "n1,n11");
  CHECK(targets("-w n[1-12],-/[13]/ -x /2") == "n4,n5,n6,n7,n8,n9");
  CHECK(targets("-w ^hosts,-m1", {}, kFiles) == "n1,n2,n3,n4,m2");
  CHECK(targets("-w n[1-5],-^hosts", {}, kFiles) == "n5");
  CHECK(targets("-w -", {}, kFiles) == "in1,in2");
  CHECK(targets("", {{"WCOLL", "hosts"}}, kFiles) == "n1,n2,n3,n4,m1,m1,m2");
  CHECK(pdsh("-w ssh:bob@n[1-2],eve@n3,n4 x") == "-w bob@n1,bob@n2,eve@n3,n4 -- x");
  CHECK(pdsh("-w b2,a1,b1 x") == "-w b2,a1,b1 -- x");
}

TEST_CASE("pdsh: groups and genders") {
  CHECK(targets("-g web", {}, kFiles) == "web1,web2");
  CHECK(targets("-w @web,x,-@web!web1", {}, kFiles) == "web1,x");
  CHECK(targets("-a", {}, {{"/etc/pdsh/machines", "m[2-3]\nm1\n"}}) == "m2,m3,m1");
  CHECK(targets("-A", kGenders, {{"/etc/genders", "x1 a"}}) == "x1");
  CHECK(targets("-F genders -A", kGenders, kFiles) ==
        "a1,b1,node1-ib,node2-ib,node3-ib,node10-ib,old1");
  CHECK(targets("-F /g/genders -a -i", {}, kFiles) == "a1,b1,node1,node2,node3,node10");
  CHECK(targets("-F /g/genders -i -g compute,login -X login", {}, kFiles) ==
        "node1,node2,node3,node10,old1");
  CHECK(targets("-F /g/genders -w node1,node2-ib,x -g compute", {}, kFiles) == "node1,node2-ib");
  CHECK(targets("-F /g/genders -i -w node1,node2-ib,x", {}, kFiles) == "node1-ib,node2,x");
  CHECK(pdsh("-F /g/genders -g login x", {}, kFiles) == "-w bob@a1,b1 -- x");
}

TEST_CASE("pdsh: the settings") {
  const std::string text =
      *translate("pdsh -q -w foo[08-10],foo1,foo2,bar,b2,a1,b1,foo[3-5] -f 8 -R exec ls -l").text;
  CHECK(text.find("\nCommand:\t\tls -l\n") != std::string::npos);
  CHECK(text.find("\nFanout\t\t\t8\n") != std::string::npos);
  CHECK(text.ends_with("-- Target nodes --\nfoo[08-10,1-2],bar,b2,a1,b1,foo[3-5]\n"));
}

TEST_CASE("pdsh: what is refused") {
  CHECK(failure("x") == "pdsh: no remote hosts specified");
  CHECK(failure("-w a -x a y") == "pdsh: no remote hosts specified");
  CHECK(failure("-R rsh -w a x") == "pdsh: the rcmd type 'rsh' is not supported");
  CHECK(failure("-w exec:a,b x") == "pdsh: a is reached by exec, b by ssh");
  CHECK(failure("-w u@rsh:a x").find("is not of the form") != std::string::npos);
  CHECK(failure("-R exec -t 3 -w a x") == "pdsh: -t cannot be combined with -R exec");
  CHECK(failure("-f x -w a y") == "pdsh: -f must be a number from 1 to 65536, not 'x'");
  CHECK(failure("-j 12 x") == "pdsh: -j is not supported");
  CHECK(failure("-z x") == "pdsh: unknown option -z");
  CHECK(failure("--foo x") == "pdsh: unknown option --foo");
  CHECK(failure("-w") == "pdsh: -w needs a value");
  CHECK(failure("-w /(/ x").find("pattern '('") != std::string::npos);
  CHECK(failure("-w foo[1- x").find("unclosed") != std::string::npos);
  CHECK(failure("-a x") == "cannot read /etc/pdsh/machines");
  CHECK(failure("-a -g x y") == "pdsh: -a or -A cannot be combined with -g");
  CHECK(failure("-F none -a x") == "cannot read the genders file /etc/none");
  CHECK(failure("-w ^loop x", {{"loop", "#include ./loop"}, {"./loop", "#include ./loop"}})
            .find("without end") != std::string::npos);
}
