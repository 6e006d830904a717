// Any bytes as the files of node groups (genders, groups.conf, YAML, lines of names), as a genders
// query and as a host list with operators: values that keep their promises, or an error with a
// place.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "check_text.h"
#include "engine/base/error.h"
#include "launcher/groups/genders.h"
#include "launcher/groups/group_files.h"
#include "launcher/groups/host_list.h"

using namespace ds::launcher;

namespace {

/// Calls `read`; an error must be one for people.
template <class Read>
void try_to(Read read) {
  try {
    read();
  } catch (const ds::Error& error) {
    DS_ASSERT(error.kind() == ds::ErrorKind::usage || error.kind() == ds::ErrorKind::config);
    DS_ASSERT(std::string(error.what()).size() < 4096);
    ds::test::check_for_terminal(error.what());
  }
}

void check_genders(std::string_view text, std::string_view query) {
  const Genders genders(text, "genders");
  std::set<std::string> names;
  for (const Genders::Node& node : genders.nodes()) {
    DS_ASSERT(!node.name.empty() && names.insert(node.name).second, "each node once");
    DS_ASSERT(genders.find(node.name) == &node);
  }
  DS_ASSERT(genders.query("").size() == names.size());
  const std::vector<std::string> some = genders.query(query);
  DS_ASSERT(some.size() <= names.size());
  for (const std::string& name : some) DS_ASSERT(names.contains(name));
}

void check_list(std::string_view text) {
  HostListParser parser(
      {.file = [](const std::string&) { return std::string("f1,f2"); },
       .group =
           [text](const std::string& name, const std::string&) {
             // A list that names groups of itself ends at the depth limit.
             return GroupNodes{name == "a" ? std::string(text.substr(0, 64)) : "g1", ""};
           }});
  parser.add(text, "-w");
  std::set<std::pair<std::string, int>> seen;
  for (const Host& host : parser.hosts()) {
    DS_ASSERT(!host.name.empty());
    DS_ASSERT(seen.emplace(host.name, host.port).second, "each host once");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t half = text.find('\n');
  const std::string_view query = text.substr(0, half);
  try_to([&] { check_genders("n[1-3] a,b=%n\nn2 c=%%\n", query); });
  try_to([&] { check_genders(text, "a||b"); });
  try_to([&] {
    ConfSections sections;
    read_groups_conf(text, "groups.conf", sections);
  });
  try_to([&] {
    for (const auto& [source, groups] : read_group_yaml(text, "g.yaml"))
      for (const auto& [group, nodes] : groups) DS_ASSERT(!group.empty() || nodes.size() < size);
  });
  for (const std::string& name : names_of_lines(text)) DS_ASSERT(named_nodes(text, name));
  (void)fill_template(text, {{"GROUP", "g"}, {"", ""}});
  try_to([&] { check_list(text); });
  return 0;
}
