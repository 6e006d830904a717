// Volcano's svc plugin: reads /etc/volcano/<task>.host and VC_<TASK>_HOSTS of every task.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/error.h"
#include "launcher/sources/peer_clues.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kFolder = "/etc/volcano";
constexpr std::string_view kFileEnd = ".host";
constexpr std::string_view kStart = "VC_";
constexpr std::string_view kEnd = "_HOSTS";

std::vector<std::string> split_hosts(std::string_view text) {
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(", \t\r\n", at), text.size());
    if (end > at) hosts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return hosts;
}

VolcanoTask make_task(std::string name, std::string source, std::string_view text) {
  VolcanoTask task{std::move(name), std::move(source), split_hosts(text)};
  for (char& c : task.name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::replace(task.name.begin(), task.name.end(), '-', '_');
  if (task.hosts.empty())
    throw Error(ErrorKind::config, fmt::format("{} contains no hosts", task.source),
                "Volcano's svc plugin writes it; check that the task has replicas");
  return task;
}

}  // namespace

std::vector<VolcanoTask> volcano_tasks(const World& world) {
  std::vector<VolcanoTask> tasks;
  for (const std::string& file : world.list_folder(std::string(kFolder))) {
    if (!file.ends_with(kFileEnd) || file.size() == kFileEnd.size()) continue;
    const std::string path = fmt::format("{}/{}", kFolder, file);
    const FileText text = world.read_file(path);
    if (!text.text)
      throw Error(ErrorKind::config, fmt::format("cannot read {}: {}", path, text.problem));
    tasks.push_back(make_task(file.substr(0, file.size() - kFileEnd.size()), path, *text.text));
  }
  for (const auto& [name, value] : world.environment) {
    const bool is_list = name.starts_with(kStart) && name.ends_with(kEnd) &&
                         name.size() > kStart.size() + kEnd.size();
    if (!is_list) continue;
    VolcanoTask task = make_task(
        name.substr(kStart.size(), name.size() - kStart.size() - kEnd.size()), name, value);
    const bool known = std::any_of(tasks.begin(), tasks.end(),
                                   [&](const VolcanoTask& t) { return t.name == task.name; });
    if (!known) tasks.push_back(std::move(task));
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
