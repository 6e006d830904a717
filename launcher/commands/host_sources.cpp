// Readers of host lists and host groups in files, and of the variables with default hosts.
#include "launcher/commands/host_sources.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "engine/base/error.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/sources/node_sources.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher::exec {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string read_list(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // A directory can be opened but not read.
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    const int error = errno;
    if (file && error == 0) return {};
    throw Error(ErrorKind::config,
                fmt::format("cannot read the host list {}: {}", path, std::strerror(error)),
                "relative paths start at the current directory");
  }
  text << file.rdbuf();
  return std::move(text).str();
}

std::vector<std::string> group_folders() {
  std::vector<std::string> folders;
  std::istringstream path(variable("DSHGROUP_PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    if (!folder.empty()) folders.push_back(folder);
  folders.push_back(variable("HOME") + "/.dsh/group");
  folders.emplace_back("/etc/dsh/group");
  return folders;
}

std::optional<std::string> find_group(const std::string& name) {
  const bool is_file_name = !name.empty() && name.find('/') == std::string::npos;
  if (is_file_name && name.front() != '.') {
    for (const std::string& folder : group_folders())
      if (auto text = read_text_file(folder + "/" + name)) return text;
  }
  const std::string genders = variable("PDSH_GENDERS");
  if (const auto text = read_text_file(genders.empty() ? "/etc/genders" : genders))
    if (auto list = genders_group(*text, name)) return list;
  for (const std::string& file : {variable("HOME") + "/.local/etc/clustershell/groups.d/local.cfg",
                                  std::string("/etc/clustershell/groups.d/local.cfg"),
                                  std::string("/etc/clustershell/groups")})
    if (const auto text = read_text_file(file))
      if (auto list = clush_group(*text, name)) return list;
  return std::nullopt;
}

}  // namespace

bool add_default_hosts(HostListParser& parser) {
  if (const std::string list = variable("WCOLL"); !list.empty()) {
    parser.add("^" + list, "WCOLL");
    return true;
  }
  const std::string hostfile = variable(kHostfileVariable);
  if (hostfile.empty()) return false;
  parser.add_hosts(load_hostfile(hostfile));
  return true;
}

ListReader system_list_reader() { return {.file = read_list, .group = find_group}; }

}  // namespace ds::launcher::exec
