#include "launcher/doctor/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include "engine/base/units.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher::doctor {
namespace {

using Level = Finding::Level;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kLeastShm = kGiB / 2;  // containers have 64 MiB; loaders and NCCL need more
constexpr std::uint64_t kLeastFree = kGiB;     // free space of a disk
constexpr std::uint64_t kLeastFiles = 4096;    // hard limit; ranks of large jobs have many links
constexpr std::uint64_t kLeastLocked = kGiB;   // with InfiniBand, which locks its buffers
constexpr std::int64_t kClockMs = 1000;
constexpr double kSameAmount = 0.05;
constexpr double kBusy = 0.5;  // load per core

class Checker {
 public:
  explicit Checker(const std::vector<NodeReport>& nodes) : nodes_(nodes) {}

  std::vector<Finding> run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) check_alone(static_cast<int>(i), nodes_[i]);
    compare_all();
    check_twins();
    std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
      const auto place = [](int node) { return static_cast<unsigned>(node); };  // -1 is last
      return place(a.node) < place(b.node);
    });
    return std::move(findings_);
  }

 private:
  template <class... Args>
  void error(int node, Subject about, fmt::format_string<Args...> text, Args&&... args) {
    findings_.push_back(
        {Level::error, node, about, fmt::format(text, std::forward<Args>(args)...)});
  }
  template <class... Args>
  void warn(int node, Subject about, fmt::format_string<Args...> text, Args&&... args) {
    findings_.push_back(
        {Level::warning, node, about, fmt::format(text, std::forward<Args>(args)...)});
  }

  void check_alone(int i, const NodeReport& node) {
    if (!check_reached(i, node)) return;
    check_gpus(i, node);
    check_limits(i, node.facts);
    check_folders(i, node.facts);
    check_clock(i, node);
    check_name(i, node);
    const double cores = std::max(1, node.facts.cores);
    if (node.facts.load > kBusy * cores)
      warn(i, Subject::cores, "busy: load {:.1f} on {} cores", node.facts.load, node.facts.cores);
  }

  bool check_reached(int i, const NodeReport& node) {
    using Kind = exec::NodeResult::Kind;
    const Facts& facts = node.facts;
    const std::string reason = node.result.reason.starts_with(node.name + ": ")
                                   ? node.result.reason.substr(node.name.size() + 2)
                                   : node.result.reason;
    if (node.result.kind == Kind::unreachable) {
      error(i, Subject::node, "not reached: {}", reason);
    } else if (node.result.kind == Kind::lost) {
      error(i, Subject::node, "lost: {}", reason);
    } else if (!facts.complete) {
      const bool late = node.result.kind == Kind::timed_out;
      const std::string what = late ? "did not answer in time"
                                    : "gave an incomplete answer: " + describe(node.result.end);
      error(i, Subject::node, "{}{}{}", what, node.said.empty() ? "" : ": " + node.said,
            facts.doing.empty() ? "" : ", while " + facts.doing);
    }
    return node.reached();
  }

  void check_gpus(int i, const NodeReport& node) {
    const Facts& facts = node.facts;
    const int count = gpu_count(facts);
    const bool any_gpus = std::any_of(nodes_.begin(), nodes_.end(), [](const NodeReport& other) {
      return gpu_count(other.facts) > 0;
    });
    if (any_gpus && count < node.slots)
      error(i, Subject::gpus, "{} for {}", counted(count, "GPU"), counted(node.slots, "slot"));
    else if (any_gpus && !node.devices.empty() && std::ranges::max(node.devices) >= count)
      error(i, Subject::gpus, "GPU {} is requested, but the node has only {}",
            std::ranges::max(node.devices), count);
    if (!facts.gpu_problem.empty()) warn(i, Subject::gpus, "{}", facts.gpu_problem);
    if (!facts.gpus.empty() && static_cast<int>(facts.gpus.size()) < facts.gpu_files)
      error(i, Subject::gpus, "{} GPUs in /dev, but nvidia-smi sees {}", facts.gpu_files,
            facts.gpus.size());
    for (const GpuProcess& process : facts.gpu_processes)
      warn(i, Subject::gpus, "GPU {} is in use: process {} of {}, {}, {} MiB",
           process.gpu < 0 ? "?" : std::to_string(process.gpu), process.pid,
           process.user.empty() ? "an unknown user" : process.user, process.name,
           process.memory_mib);
  }

  void check_limits(int i, const Facts& facts) {
    if (facts.shm_bytes < kLeastShm)
      warn(i, Subject::shm, "/dev/shm has {}; data loaders and NCCL may need more",
           bytes_text(facts.shm_bytes));
    if (facts.open_files.hard < kLeastFiles)
      warn(i, Subject::files, "only {} open files allowed (ulimit -Hn)", facts.open_files.hard);
    if (!facts.infiniband.empty() && facts.locked_memory.soft < kLeastLocked)
      warn(i, Subject::locked, "InfiniBand, but only {} of locked memory (ulimit -l)",
           bytes_text(facts.locked_memory.soft));
    if (facts.memory_free < facts.memory_bytes / 10)
      warn(i, Subject::memory, "only {} of {} memory free", bytes_text(facts.memory_free),
           bytes_text(facts.memory_bytes));
  }

  void check_folders(int i, const Facts& facts) {
    for (std::size_t n = 0; n < facts.folders.size(); ++n) {
      const Folder& folder = facts.folders[n];
      const Subject about = n == 1 ? Subject::tmp : Subject::folder;
      if (!folder.problem.empty())
        error(i, about, "{}: {}", folder.path, folder.problem);
      else if (n == 0 && !folder.is_folder)
        error(i, about, "{} is not a directory", folder.path);
      else if (n <= 1 && !folder.writable)
        warn(i, about, "{} cannot be written", folder.path);
      else if (n <= 1 && folder.free_bytes < kLeastFree)
        warn(i, about, "{}: {} free", folder.path, bytes_text(folder.free_bytes));
    }
    if (facts.check && facts.check->code != 0)
      error(i, Subject::folder, "dsrunner --check: {}", facts.check->words);
  }

  void check_clock(int i, const NodeReport& node) {
    if (!node.clock_from || !node.clock_to) return;
    if (*node.clock_from > kClockMs)
      warn(i, Subject::clock, "clock is {} ahead", seconds_text(*node.clock_from));
    if (*node.clock_to < -kClockMs)
      warn(i, Subject::clock, "clock is {} behind", seconds_text(-*node.clock_to));
  }

  /// Warns if the address has a name that is not a name of the node.
  void check_name(int i, const NodeReport& node) {
    const auto first_part = [](const std::string& name) { return name.substr(0, name.find('.')); };
    if (node.reverse_name.empty() || node.reverse_name == node.address) return;
    const std::string reverse = first_part(node.reverse_name);
    if (reverse == first_part(node.name) || reverse == first_part(node.facts.host_name) ||
        reverse == "localhost")
      return;
    warn(i, Subject::address, "address {} resolves to {}, but the host name is {}", node.address,
         node.reverse_name, node.facts.host_name);
  }

  // Comparisons with most nodes.

  using ValueOf = std::function<std::string(const Facts&)>;

  void compare(Subject subject, const std::string& what, const ValueOf& value_of) {
    std::map<std::string, std::vector<int>> nodes_with;
    int reached = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].reached()) continue;
      ++reached;
      nodes_with[value_of(nodes_[i].facts)].push_back(static_cast<int>(i));
    }
    if (nodes_with.size() < 2) return;
    const auto most = std::max_element(
        nodes_with.begin(), nodes_with.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (2 * static_cast<int>(most->second.size()) <= reached)
      return tell_split(subject, what, nodes_with);
    for (const auto& [value, nodes] : nodes_with) {
      if (value == most->first) continue;
      for (const int node : nodes)
        warn(node, subject, "{}: {}; most have {}", what, shown(value), shown(most->first));
    }
  }

  void tell_split(Subject subject, const std::string& what,
                  const std::map<std::string, std::vector<int>>& nodes_with) {
    std::string text;
    for (const auto& [value, nodes] : nodes_with) {
      std::vector<std::string> names;
      for (const int node : nodes) names.push_back(nodes_[static_cast<std::size_t>(node)].name);
      text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", shown(value), fold_names(names));
    }
    warn(-1, subject, "{} differs: {}", what, text);
  }

  static std::string shown(const std::string& value) { return value.empty() ? "none" : value; }

  /// Compares amounts; those within 5 % of the median count as equal to it.
  void compare_amounts(Subject subject, const std::string& what,
                       const std::function<std::uint64_t(const Facts&)>& amount_of) {
    std::vector<std::uint64_t> amounts;
    for (const NodeReport& node : nodes_)
      if (node.reached()) amounts.push_back(amount_of(node.facts));
    if (amounts.empty()) return;
    std::nth_element(amounts.begin(),
                     amounts.begin() + static_cast<std::ptrdiff_t>(amounts.size() / 2),
                     amounts.end());
    const std::uint64_t middle = amounts[amounts.size() / 2];
    compare(subject, what, [&](const Facts& facts) {
      const std::uint64_t amount = amount_of(facts);
      const double off = std::abs(static_cast<double>(amount) - static_cast<double>(middle));
      return bytes_text(off <= kSameAmount * static_cast<double>(middle) ? middle : amount);
    });
  }

  void compare_all() {
    compare(Subject::dslaunch, "dslaunch",
            [](const Facts& f) { return fmt::format("{} ({})", f.version, f.build); });
    compare(Subject::system, "kernel", [](const Facts& f) { return f.kernel; });
    compare(Subject::system, "system", [](const Facts& f) { return f.os; });
    compare(Subject::system, "machine", [](const Facts& f) { return f.machine; });
    compare(Subject::cores, "processor", [](const Facts& f) { return f.cpu; });
    compare(Subject::cores, "cores", [](const Facts& f) { return cores_text(f); });
    compare_amounts(Subject::memory, "memory", [](const Facts& f) { return f.memory_bytes; });
    compare(Subject::memory, "memory limit of the cgroup",
            [](const Facts& f) { return f.memory_limit == 0 ? "" : bytes_text(f.memory_limit); });
    compare(Subject::gpus, "GPUs", [](const Facts& f) { return gpus_text(f); });
    compare(Subject::gpus, "GPU driver", [](const Facts& f) { return f.driver; });
    compare_amounts(Subject::shm, "/dev/shm", [](const Facts& f) { return f.shm_bytes; });
    compare(Subject::files, "open files (ulimit -n)",
            [](const Facts& f) { return limit_text(f.open_files.soft, false); });
    compare(Subject::locked, "locked memory (ulimit -l)",
            [](const Facts& f) { return limit_text(f.locked_memory.soft, true); });
    compare(Subject::system, "InfiniBand devices",
            [](const Facts& f) { return fmt::format("{}", fmt::join(f.infiniband, " ")); });
  }

  /// Warns about one machine that appears under several names.
  void check_twins() {
    std::map<std::string, std::vector<std::string>> names_of;
    for (const NodeReport& node : nodes_)
      if (!node.facts.boot_id.empty())
        names_of[node.facts.boot_id + " " + node.facts.host_name].push_back(node.name);
    for (const auto& [machine, names] : names_of)
      if (names.size() > 1)
        warn(-1, Subject::address, "one machine under {} names: {}", names.size(),
             fold_names(names));
  }

  const std::vector<NodeReport>& nodes_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_nodes(const std::vector<NodeReport>& nodes) {
  return Checker(nodes).run();
}

std::vector<int> good_nodes(const std::vector<NodeReport>& nodes,
                            const std::vector<Finding>& findings) {
  std::vector<bool> bad(nodes.size());
  for (const Finding& finding : findings)
    if (finding.node >= 0 && finding.level == Level::error)
      bad[static_cast<std::size_t>(finding.node)] = true;
  std::vector<int> good;
  for (std::size_t i = 0; i < bad.size(); ++i)
    if (!bad[i]) good.push_back(static_cast<int>(i));
  return good;
}

}  // namespace ds::launcher::doctor
