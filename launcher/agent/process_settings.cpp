#include "launcher/agent/process_settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/split.h"
#include "engine/base/unique_fd.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {
namespace {

struct KnownLimit {
  const char* name;
  __rlimit_resource resource;
  bool exact;  // `ulimit -c 0` must be kept: it prevents core files
};

constexpr KnownLimit kLimits[] = {{"nofile", RLIMIT_NOFILE, false},
                                  {"nproc", RLIMIT_NPROC, false},
                                  {"memlock", RLIMIT_MEMLOCK, false},
                                  {"stack", RLIMIT_STACK, false},
                                  {"core", RLIMIT_CORE, true}};

/// The limit before raise_open_files(). A forked agent inherits the value.
std::optional<rlimit> files_before;

/// Returns a limit as it was before raise_open_files().
std::optional<rlimit> limit_of(__rlimit_resource resource) {
  if (resource == RLIMIT_NOFILE && files_before) return files_before;
  rlimit now{};
  return ::getrlimit(resource, &now) == 0 ? std::optional(now) : std::nullopt;
}

constexpr int kWholeMachine = -1;

/// Returns the NUMA node of a device; -1 if it is not known.
int numa_of_device(const NodeTopology& topology, const std::string& name) {
  std::size_t index = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error == std::errc() && stop == name.data() + name.size())
    return index < topology.devices.size() ? topology.devices[index].numa : -1;
  for (const DevicePlace& device : topology.devices) {
    // CUDA accepts a prefix of a UUID, and MIG-GPU-<UUID>/1/0 for a part of a GPU.
    const bool same = !device.uuid.empty() && name.size() > 4 &&
                      (device.uuid.starts_with(name) || name.starts_with("MIG-" + device.uuid));
    if (same) return device.numa;
  }
  return -1;
}

std::vector<int> numa_of_ranks(const NodeTopology& topology,
                               const std::vector<std::string>& devices,
                               const std::vector<int>& nodes, bool heed_devices) {
  std::vector<int> chosen;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int near = heed_devices ? numa_of_device(topology, devices[i]) : -1;
    chosen.push_back(
        std::ranges::count(nodes, near) > 0 ? near : nodes[i * nodes.size() / devices.size()]);
  }
  return chosen;
}

/// Returns the processors of a NUMA node or of the whole machine, with threads of a core adjacent.
std::vector<Processor> processors_of(const NodeTopology& topology, int numa) {
  std::vector<Processor> found;
  for (const Processor& one : topology.processors)
    if (numa == kWholeMachine || one.numa == numa) found.push_back(one);
  std::ranges::stable_sort(found, {}, [](const Processor& p) { return std::pair(p.numa, p.core); });
  return found;
}

/// Returns true if every rank can have a processor of its own on its NUMA node.
bool has_room(const NodeTopology& topology, const std::vector<int>& numa) {
  std::map<int, std::ptrdiff_t> left;
  for (const Processor& one : topology.processors) ++left[one.numa];
  return std::all_of(numa.begin(), numa.end(), [&](int node) { return left[node]-- > 0; });
}

/// Returns share `index` of `parts`, in whole cores if there are enough.
std::vector<Processor> share_of(const std::vector<Processor>& all, std::size_t index,
                                std::size_t parts) {
  std::vector<std::size_t> starts;  // of the units that are handed out
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i == 0 || all[i].core != all[i - 1].core) starts.push_back(i);
  if (starts.size() < parts) {
    starts.clear();
    for (std::size_t i = 0; i < all.size(); ++i) starts.push_back(i);
  }
  const std::size_t units = starts.size();
  starts.push_back(all.size());
  std::size_t first = index * units / parts;
  std::size_t last = (index + 1) * units / parts;
  if (units < parts) first = index % units, last = first + 1;  // Ranks share units.
  return {all.begin() + static_cast<std::ptrdiff_t>(starts[first]),
          all.begin() + static_cast<std::ptrdiff_t>(starts[last])};
}

RankBinding binding_of(const std::vector<Processor>& processors, bool one_of_several) {
  RankBinding binding;
  for (const Processor& one : processors) binding.processors.push_back(one.number);
  std::sort(binding.processors.begin(), binding.processors.end());
  const int numa = processors.front().numa;
  if (std::ranges::all_of(processors, [&](const Processor& p) { return p.numa == numa; }))
    binding.numa = numa;
  binding.prefers_memory = one_of_several && binding.numa >= 0;
  return binding;
}

}  // namespace

EnvList merge_env(const std::vector<const EnvList*>& lists) {
  EnvList merged;
  std::map<std::string, std::size_t> at;
  for (const EnvList* list : lists) {
    for (const auto& [name, value] : *list) {
      const auto [place, is_new] = at.try_emplace(name, merged.size());
      if (is_new) merged.emplace_back(name, "");
      merged[place->second].second = value;
    }
  }
  return merged;
}

EnvList environment_of_this_process() {
  EnvList list;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=', 1);
    if (equals != std::string::npos)
      list.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return list;
}

std::vector<std::string> exec_candidates(const std::string& program, const EnvList& env) {
  if (program.find('/') != std::string::npos) return {program};
  if (program.empty()) return {};
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  for (const auto& [name, value] : env)
    if (name == "PATH") path = value;
  std::vector<std::string> files;
  for (const std::string_view folder : split(path, ':'))  // Empty: the current folder.
    files.push_back(std::string(folder.empty() ? "." : folder) + "/" + program);
  return files;
}

Login find_login(const EnvList& env, std::string_view passwd, uid_t user) {
  Login login;
  for (const auto& [name, value] : env) {
    if (name == "HOME") login.home = value;
    if (name == "SHELL") login.shell = value;
  }
  for (const std::string_view line : split(passwd, '\n')) {
    std::vector<std::string_view> fields = split(line, ':');
    fields.resize(7);  // name:password:uid:gid:gecos:home:shell
    if (fields[2] != std::to_string(user)) continue;
    if (login.home.empty()) login.home = fields[5];
    if (login.shell.empty()) login.shell = fields[6];
    break;
  }
  if (login.home.empty()) login.home = "/";
  if (login.shell.empty()) login.shell = "/bin/sh";
  return login;
}

void resolve_login(ProgramSpec& program, const EnvList& env) {
  if (!program.at_home && !program.login_shell) return;
  std::ifstream file("/etc/passwd");
  const std::string passwd{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Login login = find_login(env, passwd, ::getuid());
  if (program.at_home && program.cwd.empty()) program.cwd = login.home;
  if (program.login_shell) program.argv = {login.shell, "-c", program.argv.at(0)};
}

void raise_open_files() {
  rlimit now{};
  if (files_before || ::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur == now.rlim_max) return;
  const rlimit raised{now.rlim_max, now.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) files_before = now;
}

void give_back_open_files() {
  if (files_before) ::setrlimit(RLIMIT_NOFILE, &*files_before);
}

void run_before_ranks() {
  constexpr std::string_view kNice = "-15";
  const pid_t session = ::getsid(0);
  if (session != ::getpid() && session != ::getppid()) return;
  const UniqueFd file(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  if (file) (void)!::write(file.get(), kNice.data(), kNice.size());
}

std::vector<ResourceLimit> limits_of_this_process() {
  static_assert(RLIM_INFINITY == UINT64_MAX);
  std::vector<ResourceLimit> limits;
  for (const KnownLimit& known : kLimits)
    if (const auto now = limit_of(known.resource)) limits.push_back({known.name, now->rlim_cur});
  return limits;
}

rlim_t soft_limit(const rlimit& now, std::uint64_t wanted, bool exact) {
  const rlim_t allowed = std::min<rlim_t>(wanted, now.rlim_max);
  return exact ? allowed : std::max(now.rlim_cur, allowed);
}

std::vector<LimitToSet> limits_to_set(const std::vector<ResourceLimit>& wanted) {
  std::vector<LimitToSet> changes;
  if (files_before) changes.push_back({RLIMIT_NOFILE, *files_before});
  for (const ResourceLimit& limit : wanted) {
    const auto* const known = std::ranges::find(kLimits, limit.name, &KnownLimit::name);
    if (known == std::end(kLimits)) continue;
    const std::optional<rlimit> now = limit_of(known->resource);
    if (!now) continue;
    const rlim_t soft = soft_limit(*now, limit.soft, known->exact);
    if (soft != now->rlim_cur) changes.push_back({known->resource, {soft, now->rlim_max}});
  }
  return changes;
}

std::vector<RankBinding> bind_ranks(Bind how, const NodeTopology& topology,
                                    const std::vector<std::string>& devices) {
  std::vector<RankBinding> bindings(devices.size());
  if (how == Bind::none || topology.processors.empty() || devices.empty()) return bindings;
  std::set<int> known;
  for (const Processor& one : topology.processors) known.insert(one.numa);
  const std::vector<int> nodes(known.begin(), known.end());
  std::vector<int> numa = numa_of_ranks(topology, devices, nodes, true);
  if (how == Bind::cores && !has_room(topology, numa))
    numa = numa_of_ranks(topology, devices, nodes, false);
  if (how == Bind::cores && !has_room(topology, numa)) numa.assign(numa.size(), kWholeMachine);
  std::map<int, std::size_t> before;  // earlier ranks on the same NUMA node
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto together = static_cast<std::size_t>(std::count(numa.begin(), numa.end(), numa[i]));
    const std::vector<Processor> all = processors_of(topology, numa[i]);
    bindings[i] = binding_of(how == Bind::cores ? share_of(all, before[numa[i]]++, together) : all,
                             nodes.size() > 1);
  }
  return bindings;
}

std::string binding_text(const RankBinding& binding) {
  if (binding.processors.empty()) return "any processor";
  return fmt::format("processor{} {}{}", binding.processors.size() == 1 ? "" : "s",
                     rank_ranges(binding.processors),
                     binding.numa < 0 ? "" : fmt::format(" of NUMA node {}", binding.numa));
}

std::vector<unsigned long> affinity_mask(const std::vector<int>& processors) {
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::vector<unsigned long> mask;
  for (const int number : processors) {
    const auto at = static_cast<std::size_t>(number);
    if (mask.size() <= at / kBits) mask.resize(at / kBits + 1);
    mask[at / kBits] |= 1UL << (at % kBits);
  }
  return mask;
}

}  // namespace ds::launcher
