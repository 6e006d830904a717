// The sources of a group, and which of them has it.
#include "launcher/groups/node_groups.h"

#include <doctest/doctest.h>

#include <map>

#include "engine/base/error.h"

namespace {

using namespace ds::launcher;

/// Files by path, variables, and results of commands; a command that is not known fails.
struct Bed {
  std::map<std::string, std::string> files{};
  std::map<std::string, std::string> variables{{"HOME", "/home/ann"}};
  std::map<std::string, UpcallResult> results{};
  std::vector<std::string> ran{};

  NodeGroups groups() {
    return NodeGroups({.variable =
                           [this](const char* name) {
                             const auto known = variables.find(name);
                             return known == variables.end() ? std::string() : known->second;
                           },
                       .file = [this](const std::string& path) -> std::optional<std::string> {
                         const auto known = files.find(path);
                         return known == files.end() ? std::nullopt : std::optional(known->second);
                       },
                       .files_of =
                           [this](const std::string& folder) {
                             std::vector<std::string> names;
                             for (const auto& [path, text] : files)
                               if (path.starts_with(folder + "/") &&
                                   path.find('/', folder.size() + 1) == std::string::npos)
                                 names.push_back(path.substr(folder.size() + 1));
                             return names;
                           },
                       .run =
                           [this](const std::string& command, const std::string& folder) {
                             ran.push_back(folder + "> " + command);
                             const auto known = results.find(command);
                             return known == results.end() ? UpcallResult{.code = 3}
                                                           : known->second;
                           }});
  }
  std::string list(const std::string& name, const std::string& within = "") {
    return groups().find(name, within).list;
  }
  std::string failure(const std::string& name, const std::string& within = "") {
    try {
      list(name, within);
    } catch (const ds::Error& error) {
      return error.for_people();
    }
    return "none";
  }
};

constexpr const char* kConf = "/etc/clustershell/groups.conf";

Bed with_conf() {
  Bed bed;
  bed.files[kConf] =
      "[Main]\ndefault: db\nconfdir: $CFGDIR/conf.d\nautodir: $CFGDIR/groups.d\n"
      "[db]\nmap: get $GROUP $f\nlist: names\n";
  bed.files["/etc/clustershell/groups.d/site.yaml"] = "site:\n  a: 'n[1-2]'\n  b: '@a,n3'\n";
  bed.files["/etc/clustershell/groups.d/README"] = "no: yaml: here";
  bed.files["/etc/clustershell/conf.d/more.conf"] = "[x,y]\nmap: more $SOURCE\nall: every\n";
  bed.results["names"] = {.out = "gpu login\nempty\n"};
  bed.results["get gpu $f"] = {.out = "g[1-2]\n"};
  bed.results["get empty $f"] = {.out = "\n"};
  bed.results["get gpo $f"] = {.out = ""};
  bed.results["get login $f"] = {.out = "l1"};
  bed.results["more y"] = {.out = "y1 y2"};
  bed.results["every"] = {.out = "e[1-9]"};
  return bed;
}

}  // namespace

TEST_CASE("the first source that knows a name has it") {
  Bed bed = with_conf();
  CHECK(bed.list("gpu") == "g[1-2]\n");
  bed.files["/etc/genders"] = "n1 gpu\nn2 gpu,rack=1\n";
  CHECK(bed.list("gpu") == "n1\nn2");
  CHECK(bed.list("rack=1") == "n2");
  CHECK(bed.list("gpu&&rack=1") == "n2");
  CHECK(bed.list("*") == "n1\nn2");
  bed.files["/etc/dsh/group/gpu"] = "d1\n#include more\n#include /x\n# no\n";
  CHECK(bed.list("gpu") == "d1\n@dsh:more\n^/x\n# no\n");
  bed.files["/home/ann/.dsh/group/gpu"] = "h1";
  CHECK(bed.list("gpu") == "h1\n");
  bed.variables["DSHGROUP_PATH"] = "/none:/p";
  bed.files["/p/gpu"] = "p1";
  CHECK(bed.list("gpu") == "p1\n");
}

TEST_CASE("a source can be named") {
  Bed bed = with_conf();
  bed.files["/etc/genders"] = "n1 gpu\n";
  bed.files["/etc/dsh/group/gpu"] = "d1";
  CHECK(bed.list("dsh:gpu") == "d1\n");
  CHECK(bed.list("genders:gpu") == "n1");
  CHECK(bed.list("genders:*") == "n1");
  CHECK(bed.list("db:gpu") == "g[1-2]\n");
  CHECK(bed.list("y:any") == "y1 y2");
  CHECK(bed.list("site:b") == "@a,n3");
  CHECK(bed.groups().find("site:b", "").source == "site");
  CHECK(bed.list("a", "site") == "n[1-2]");
}

TEST_CASE("all nodes of a source") {
  Bed bed = with_conf();
  CHECK(bed.list("y:*") == "e[1-9]");
  CHECK(bed.list("site:*") == "n[1-2]\n@a,n3\n");
  CHECK(bed.list("db:*") == "g[1-2]\n\nl1\n\n\n");
}

TEST_CASE("commands run once, in the folder of their file") {
  Bed bed = with_conf();
  NodeGroups groups = bed.groups();
  groups.find("gpu");
  groups.find("gpu");
  groups.find("y:any");
  CHECK(bed.ran == std::vector<std::string>{"/etc/clustershell> get gpu $f",
                                            "/etc/clustershell/conf.d> more y"});
}

TEST_CASE("a group may be empty; an unknown one is named with similar ones") {
  Bed bed = with_conf();
  CHECK(bed.list("empty") == "\n");
  CHECK(bed.failure("gpo") == "no group 'gpo'\n  hint: did you mean gpu?");
  CHECK(bed.failure("site:zz") == "no group 'zz' in the source site\n  hint: known groups: a, b");
  CHECK(bed.failure("nosuch:a") ==
        "there is no group source 'nosuch'\n  hint: known sources: dsh, genders, db, site, x, y");
  CHECK(bed.failure("db:a;b").starts_with("'a;b' cannot be the name of a group"));
  CHECK(Bed().failure("x").starts_with("no group 'x'\n  hint: groups are files in"));
}

TEST_CASE("failures of sources") {
  Bed bed = with_conf();
  CHECK(bed.failure("db:unlucky")
            .starts_with("/etc/clustershell/groups.conf: the command 'map' of [db] failed with "
                         "exit code 3: 'get "
                         "unlucky $f'"));
  bed.results["get slow $f"] = {.in_time = false};
  CHECK(bed.failure("slow").find("did not end in time") != std::string::npos);
  bed.files[kConf] += "[z]\nlist: x\n";
  CHECK(bed.failure("gpu").starts_with("/etc/clustershell/groups.conf: [z] has no map"));
  bed.files[kConf] = "[Main]\ndefault: none\n";
  CHECK(bed.failure("gpu").starts_with(
      "/etc/clustershell/groups.conf: there is no group source 'none'"));
}

TEST_CASE("values of the user's groups.conf replace those of the system") {
  Bed bed = with_conf();
  bed.files["/home/ann/.config/clustershell/groups.conf"] =
      "[Main]\ndefault: own\n[own]\nmap: own\n";
  bed.results["own"] = {.out = "o1"};
  CHECK(bed.list("any") == "o1");
  bed.variables["CLUSTERSHELL_CFGDIR"] = "/c";
  bed.files["/c/groups.conf"] = "[Main]\ndefault: db\n";
  CHECK(bed.list("gpu") == "g[1-2]\n");
}

TEST_CASE("without groups.conf the lines of local.cfg are groups") {
  Bed bed;
  bed.files["/etc/clustershell/groups.d/local.cfg"] = "adm: a1\nall: a[1-2]\n";
  CHECK(bed.list("adm") == " a1\n");
  CHECK(bed.list("local:*") == " a[1-2]\n");
}
