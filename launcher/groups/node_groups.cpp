#include "launcher/groups/node_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kMain = "Main";

/// Bytes that mean nothing to a shell: the name becomes a part of a command of groups.conf, where
/// it may stand inside or outside of quotes.
bool is_harmless(std::string_view name) {
  return std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_.:+%/@,=").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

}  // namespace

GroupNodes NodeGroups::find(std::string_view full_name, const std::string& within) {
  const std::size_t colon = full_name.find(':');
  if (colon != std::string_view::npos) {
    const std::string source(full_name.substr(0, colon));
    const std::string name(full_name.substr(colon + 1));
    load_sources();
    std::optional<std::string> list;
    if (sources_.contains(source)) {
      list = source_list(source, name);
    } else if (source == "dsh") {
      list = dsh_list(name);
    } else if (source == "genders") {
      list = genders_list(name);
    } else {
      std::vector<std::string_view> known = {"dsh", "genders"};
      for (const auto& [its, unused] : sources_) known.push_back(its);
      throw Error(ErrorKind::config,
                  fmt::format("there is no group source {}", quoted(printable_text(source))),
                  fmt::format("known sources: {}", fmt::join(known, ", ")));
    }
    if (!list) unknown(source, name);
    return {*std::move(list), sources_.contains(source) ? source : ""};
  }
  const std::string name(full_name);
  if (!within.empty()) {
    load_sources();
    std::optional<std::string> list = source_list(within, name);
    if (!list) unknown(within, name);
    return {*std::move(list), within};
  }
  if (auto list = dsh_list(name)) return {*std::move(list), ""};
  if (auto list = genders_list(name)) return {*std::move(list), ""};
  load_sources();
  if (!default_.empty())
    if (auto list = source_list(default_, name)) return {*std::move(list), default_};
  unknown("", name);
}

std::vector<std::string> NodeGroups::dsh_folders() const {
  std::vector<std::string> folders;
  const std::string path = world_.variable("DSHGROUP_PATH");
  for (const std::string_view folder : split(path, ':'))
    if (!folder.empty()) folders.emplace_back(folder);
  folders.push_back(world_.variable("HOME") + "/.dsh/group");
  folders.emplace_back("/etc/dsh/group");
  return folders;
}

std::optional<std::string> NodeGroups::dsh_list(const std::string& name) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos)
    return std::nullopt;
  for (const std::string& folder : dsh_folders()) {
    const std::optional<std::string> text = world_.file(folder + "/" + name);
    if (!text) continue;
    std::string list;
    for (std::string_view rest = *text; !rest.empty();) {
      const std::string_view line = take_line(rest);
      const std::vector<std::string> words = words_of(line);
      // pdsh reads files and groups that "#include" names.
      if (line.starts_with("#include") && words.size() == 2)
        list += (words[1].find('/') == std::string::npos ? "@dsh:" : "^") + words[1] + "\n";
      else
        list += std::string(line) + "\n";
    }
    return list;
  }
  return std::nullopt;
}

const Genders* NodeGroups::genders() {
  if (!genders_) {
    genders_.emplace();
    std::string path = genders_path_;
    if (path.empty()) path = world_.variable("PDSH_GENDERS");
    if (path.empty()) path = "/etc/genders";
    if (const auto text = world_.file(path)) genders_->emplace(*text, path);
  }
  return *genders_ ? &**genders_ : nullptr;
}

std::optional<std::string> NodeGroups::genders_list(const std::string& name) {
  const Genders* known = genders();
  if (known == nullptr) return std::nullopt;
  const bool all = name == "*";
  if (!all && name.find_first_not_of(" \t") == std::string::npos) return std::nullopt;
  const std::vector<std::string> nodes = known->query(all ? "" : name);
  if (nodes.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(nodes, "\n"));
}

/// Reads groups.conf of all folders, as ClusterShell does, then the files that they name.
void NodeGroups::load_sources() {
  if (std::exchange(loaded_, true)) return;
  const std::string home = world_.variable("HOME");
  const std::string xdg = world_.variable("XDG_CONFIG_HOME");
  const std::string config = xdg.empty() ? home + "/.config" : xdg;
  std::vector<std::string> folders = {"/etc/clustershell", home + "/.local/etc/clustershell",
                                      config + "/clustershell"};
  if (const std::string own = world_.variable("CLUSTERSHELL_CFGDIR"); !own.empty())
    folders.push_back(own);
  ConfSections sections;
  std::string folder, file;
  for (const std::string& each : folders) {
    const auto text = world_.file(each + "/groups.conf");
    if (!text) continue;
    folder = each;
    file = each + "/groups.conf";
    read_groups_conf(*text, file, sections);
  }
  if (file.empty()) return load_plain_file(folders);
  std::map<std::string, std::string>& main = sections[std::string(kMain)];
  const auto folders_of = [&](const std::string& key) {
    return words_of(fill_template(main[key], {{"CFGDIR", folder}}));
  };
  for (const std::string& each : folders_of(main.contains("groupsdir") ? "groupsdir" : "confdir"))
    for (const std::string& name : world_.files_of(each)) {
      const auto text = name.ends_with(".conf") ? world_.file(each + "/" + name) : std::nullopt;
      if (!text) continue;
      ConfSections more;
      read_groups_conf(*text, each + "/" + name, more);
      add_sources(more, each + "/" + name, each);
    }
  for (const std::string& each : folders_of("autodir"))
    for (const std::string& name : world_.files_of(each)) {
      const auto text = name.ends_with(".yaml") ? world_.file(each + "/" + name) : std::nullopt;
      if (!text) continue;
      for (auto& [source, groups] : read_group_yaml(*text, each + "/" + name))
        sources_[source] = {.groups = groups, .file = each + "/" + name, .folder = each};
    }
  add_sources(sections, file, folder);
  default_ = main["default"];
  if (default_.empty() && sources_.size() == 1) default_ = sources_.begin()->first;
  if (!default_.empty() && !sources_.contains(default_))
    throw Error(
        ErrorKind::config,
        fmt::format("{}: there is no group source {}", file, quoted(printable_text(default_))),
        "'default' in [Main] names one of the sections");
}

/// Without groups.conf: reads the file that its standard version names.
void NodeGroups::load_plain_file(const std::vector<std::string>& folders) {
  for (const std::string& each : folders)
    for (const char* const name : {"/groups.d/local.cfg", "/groups"}) {
      const auto text = world_.file(each + name);
      if (!text) continue;
      Source& local = sources_[default_ = "local"];
      local.file = each + name;
      local.groups.emplace();
      for (const std::string& group : names_of_lines(*text))
        local.groups->try_emplace(group, named_nodes(*text, group).value_or(""));
    }
}

void NodeGroups::add_sources(const ConfSections& sections, const std::string& file,
                             const std::string& folder) {
  for (const auto& [names, keys] : sections) {
    if (names == kMain) continue;
    if (!keys.contains("map"))
      throw Error(ErrorKind::config, fmt::format("{}: [{}] has no map", file, names),
                  "map is the command that prints the nodes of $GROUP");
    for (const std::string_view name : split(names, ','))
      sources_[std::string(name)] = {.commands = keys, .file = file, .folder = folder};
  }
}

std::optional<std::string> NodeGroups::source_list(const std::string& name,
                                                   const std::string& group) {
  const Source& source = sources_.at(name);
  if (group == "*") return all_of(name, source);
  if (source.groups) {
    const auto known = source.groups->find(group);
    return known == source.groups->end() ? std::nullopt : std::optional(known->second);
  }
  if (!is_harmless(group))
    throw Error(ErrorKind::config,
                fmt::format("{} cannot be the name of a group", quoted(printable_text(group))),
                fmt::format("the source {} passes it to a shell command", name));
  std::string list = run(name, source, "map", group);
  if (!words_of(list).empty()) return list;
  const std::vector<std::string> known = groups_of(name, source);  // it may be empty
  if (std::ranges::find(known, group) == known.end()) return std::nullopt;
  return list;
}

std::string NodeGroups::all_of(const std::string& name, const Source& source) {
  if (source.groups && source.groups->contains("all")) return source.groups->at("all");
  if (!source.groups && source.commands.contains("all")) return run(name, source, "all", "");
  std::string list;
  for (const std::string& group : groups_of(name, source))
    list += source_list(name, group).value_or("") + "\n";
  return list;
}

std::vector<std::string> NodeGroups::groups_of(const std::string& name, const Source& source) {
  std::vector<std::string> groups;
  if (source.groups) {
    for (const auto& [group, nodes] : *source.groups) groups.push_back(group);
  } else if (source.commands.contains("list")) {
    groups = words_of(run(name, source, "list", ""));
  }
  return groups;
}

std::string NodeGroups::run(const std::string& name, const Source& source, const std::string& what,
                            const std::string& group) {
  const auto [known, is_new] = results_.try_emplace(name + "\n" + what + "\n" + group);
  if (!is_new) return known->second;
  std::map<std::string, std::string> values = {{"CFGDIR", source.folder}, {"SOURCE", name}};
  if (what == "map") values["GROUP"] = group;
  const std::string command = fill_template(source.commands.at(what), values);
  const UpcallResult result = world_.run(command, source.folder);
  if (!result.in_time || result.code != 0)
    throw Error(ErrorKind::config,
                fmt::format("{}: the command '{}' of [{}] {}: {}", source.file, what, name,
                            result.in_time ? fmt::format("failed with exit code {}", result.code)
                                           : "did not end in time",
                            quoted(printable_text(command))),
                "run it in " + source.folder);
  return known->second = result.out;
}

void NodeGroups::unknown(const std::string& source, const std::string& name) {
  std::vector<std::string> names;
  const auto add = [&](std::vector<std::string> more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  if (source.empty() || source == "dsh")
    for (const std::string& folder : dsh_folders()) add(world_.files_of(folder));
  if (source.empty() || source == "genders")
    if (const Genders* known = genders()) add(known->attributes());
  const std::string& theirs = source.empty() ? default_ : source;
  if (const auto known = sources_.find(theirs); known != sources_.end())
    add(groups_of(theirs, known->second));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = nearest_word(name, views);
  constexpr std::size_t kMostNames = 12;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const bool many = names.size() > kMostNames;
  if (many) names.resize(kMostNames);
  throw Error(ErrorKind::config,
              fmt::format("no group {}{}", quoted(printable_text(name)),
                          source.empty() ? "" : " in the source " + source),
              !near.empty() ? fmt::format("did you mean {}?", near)
              : !names.empty()
                  ? fmt::format("known groups: {}{}", fmt::join(names, ", "), many ? ", ..." : "")
                  : "groups are files in ~/.dsh/group and /etc/dsh/group, attributes in "
                    "/etc/genders, and groups of ClusterShell's groups.conf");
}

}  // namespace ds::launcher
