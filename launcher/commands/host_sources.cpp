// Readers of host lists and host groups in files, and of the variables with default hosts.
#include "launcher/commands/host_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>

#include "engine/base/error.h"
#include "launcher/cli/option_table.h"
#include "launcher/doctor/run_tool.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/sources/node_sources.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {
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

/// Time for one command of groups.conf.
constexpr std::chrono::seconds kUpcallTime{30};
/// run_tool() keeps no more of an output.
constexpr std::size_t kMostOutput = std::size_t{1} << 20;

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end;
       at.increment(none))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

UpcallResult run_upcall(const std::string& command, const std::string& folder) {
  const doctor::ToolResult result = doctor::run_tool(
      {"/bin/sh", "-c", "cd \"$0\" && " + command, folder}, false, Deadline::after(kUpcallTime));
  if (result.out.size() >= kMostOutput)
    throw Error(ErrorKind::config, fmt::format("the output of '{}' is longer than 1 MiB", command));
  return {.code = result.started ? result.code : 127,
          .in_time = result.in_time || !result.started,
          .out = result.out};
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

NodeGroups system_groups() {
  return NodeGroups({.variable = variable,
                     .file = [](const std::string& path) { return read_text_file(path); },
                     .files_of = files_of,
                     .run = run_upcall});
}

ListReader system_list_reader() {
  const auto groups = std::make_shared<NodeGroups>(system_groups());
  return {.file = read_list, .group = [groups](const std::string& name, const std::string& within) {
            return groups->find(name, within);
          }};
}

void open_groups(std::vector<HostPick>& picks) {
  std::vector<HostPick> opened;
  std::optional<ListReader> reader;
  for (HostPick& pick : picks) {
    if (!pick.is_expression) {
      opened.push_back(std::move(pick));
      continue;
    }
    if (!reader) reader = system_list_reader();
    HostListParser parser(*reader);
    parser.add(pick.text, "--host");
    for (const Host& host : parser.hosts()) {
      if (host.port != 0)
        usage_error(fmt::format("--host {}: {} cannot have slots here", pick.text, host.name),
                    "hosts with slots stand between commas, for example a:4,@gpu!node07");
      opened.push_back({.text = pick.text, .names = {host.name}, .user = host.user});
    }
  }
  picks = std::move(opened);
}

}  // namespace ds::launcher
