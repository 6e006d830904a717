#include "launcher/sources/peer_clues.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/text_error.h"

namespace ds::launcher {
namespace {

// These are set by orchestrators for this purpose and must not differ.
constexpr std::array<const char*, 5> kSureIndexes = {
    "JOB_COMPLETION_INDEX", "LWS_WORKER_INDEX", "PET_NODE_RANK", "VC_TASK_INDEX", "VK_TASK_INDEX"};

std::optional<int> only_match(const std::vector<std::string>& names, auto matches) {
  std::optional<int> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!matches(names[i])) continue;
    if (found) return std::nullopt;
    found = static_cast<int>(i);
  }
  return found;
}

VolcanoTask volcano_task(std::string name, std::string source, std::string text) {
  for (char& c : name)
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  VolcanoTask task{std::move(name), std::move(source), {}};
  for (std::string host; words >> host;) task.hosts.push_back(std::move(host));
  if (task.hosts.empty())
    throw Error(ErrorKind::config, fmt::format("{} contains no hosts", task.source),
                "Volcano's svc plugin writes it; check that the task has replicas");
  return task;
}

}  // namespace

std::optional<NumberClue> number_variable(const World& world, const std::string& name) {
  const std::optional<std::string> text = world.variable(name);
  if (!text) return std::nullopt;
  int value = 0;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || stop != text->data() + text->size() || value < 0)
    throw Error(ErrorKind::config,
                fmt::format("{}={} is not an integer", name, printable_text(*text, 40)),
                "the creator of this pod sets it; override it with --node-rank or --nnodes");
  return NumberClue{value, name};
}

std::optional<NumberClue> any_number(const World& world, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto value = number_variable(world, name)) return value;
  return std::nullopt;
}

NodeCount node_count_variable(const std::string& name, const std::string& text) {
  try {
    return parse_node_count(name, text);
  } catch (const Error& error) {
    throw Error(ErrorKind::config, error.what(),
                fmt::format("for example {}=4, or {}=2:4 for 2 to 4 nodes; --nnodes overrides it",
                            name, name));
  }
}

std::optional<Numbered> split_number(std::string_view label) {
  const std::size_t dash = label.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view digits = label.substr(dash + 1);
  int value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool plain = error == std::errc() && stop == digits.data() + digits.size() && value >= 0 &&
                     digits == std::to_string(value);
  if (!plain) return std::nullopt;
  return Numbered{std::string(label.substr(0, dash + 1)), value};
}

std::optional<NumberClue> find_index(const World& world) {
  std::optional<NumberClue> sure;
  for (const char* name : kSureIndexes) {
    const std::optional<NumberClue> clue = number_variable(world, name);
    if (!clue) continue;
    if (sure && sure->value != clue->value)
      throw Error(ErrorKind::config,
                  fmt::format("the index of this node is ambiguous: {} is {}, {} is {}",
                              sure->source, sure->value, clue->source, clue->value),
                  "give it with --node-rank N");
    if (!sure) sure = clue;
  }
  if (sure) return sure;
  return any_number(world, {"NODE_RANK", "SLURM_NODEID"});
}

std::vector<std::string> Naming::name_all(int count) const {
  if (!names.empty()) return names;
  std::vector<std::string> all;
  const int each = jobs > 1 ? count / jobs : count;
  for (int j = 0; j < jobs; ++j)
    for (int i = 0; i < each; ++i)
      all.push_back(jobs > 1 ? fmt::format("{}{}-{}{}", start, j, i, end)
                             : fmt::format("{}{}{}", start, i, end));
  if (first && !all.empty()) all.front() = *first;
  return all;
}

std::optional<int> find_own_name(const World& world, const std::optional<PodName>& pod,
                                 const std::vector<std::string>& names) {
  const std::string host = name_as_compared(world.hostname);
  const std::string label(first_label(host));
  if (label.empty()) return std::nullopt;
  const std::string full = pod ? pod->full() + "." : "";
  const std::string ip = world.variable("POD_IP").value_or("");
  const std::function<bool(const std::string&)> matches[] = {
      [&](const std::string& name) {
        return !is_address(name) && full.starts_with(name_as_compared(name) + ".");
      },
      [&](const std::string& name) { return name_as_compared(name) == host; },
      [&](const std::string& name) { return name_as_compared(first_label(name)) == label; },
      [&](const std::string& name) { return name == ip; },
      [&](const std::string& name) { return std::ranges::count(world.addresses, name) > 0; }};
  for (const auto& match : matches)
    if (const auto found = only_match(names, match)) return found;
  return std::nullopt;
}

/// Reads what Volcano's svc plugin writes: /etc/volcano/<task>.host and VC_<TASK>_HOSTS.
std::vector<VolcanoTask> volcano_tasks(const World& world) {
  constexpr std::string_view kFolder = "/etc/volcano", kFileEnd = ".host";
  constexpr std::string_view kStart = "VC_", kEnd = "_HOSTS";
  std::vector<VolcanoTask> tasks;
  for (const std::string& file : world.list_folder(std::string(kFolder))) {
    if (!file.ends_with(kFileEnd) || file.size() == kFileEnd.size()) continue;
    const std::string path = fmt::format("{}/{}", kFolder, file);
    const FileText text = world.read_file(path);
    if (!text.text)
      throw Error(ErrorKind::config, fmt::format("cannot read {}: {}", path, text.problem));
    tasks.push_back(volcano_task(file.substr(0, file.size() - kFileEnd.size()), path, *text.text));
  }
  for (const auto& [name, value] : world.environment) {
    const bool is_list = name.starts_with(kStart) && name.ends_with(kEnd) &&
                         name.size() > kStart.size() + kEnd.size();
    if (!is_list) continue;
    VolcanoTask task = volcano_task(
        name.substr(kStart.size(), name.size() - kStart.size() - kEnd.size()), name, value);
    if (std::ranges::find(tasks, task.name, &VolcanoTask::name) == tasks.end())
      tasks.push_back(std::move(task));
  }
  return tasks;
}

std::size_t own_task(const World& world, const std::vector<VolcanoTask>& tasks) {
  const std::optional<PodName> pod = find_pod_name(world);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (find_own_name(world, pod, tasks[i].hosts)) return i;
  return std::string::npos;
}

}  // namespace ds::launcher
