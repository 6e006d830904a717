// Readers of facts from /proc, /sys, nvidia-smi and dsrunner; unknown facts stay empty.
#include "launcher/doctor/collect.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "launcher/agent/cgroups.h"
#include "launcher/agent/node_facts.h"
#include "launcher/cli/forward_env.h"
#include "launcher/doctor/gpu_text.h"
#include "launcher/doctor/run_tool.h"

namespace ds::launcher::doctor {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Returns the value after `key` and its separators in the first line that starts with it.
std::string value_in(const std::string& text, const std::string& key) {
  std::size_t at = text.starts_with(key) ? 0 : text.find("\n" + key);
  if (at == std::string::npos) return {};
  at = text.find_first_not_of(" \t:=\"", (at == 0 ? 0 : at + 1) + key.size());
  if (at == std::string::npos) return {};
  const std::size_t end = text.find_first_of("\"\n", at);
  return text.substr(at, end == std::string::npos ? end : end - at);
}

std::uint64_t kibibytes(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value * 1024;
}

Limit limit_of(__rlimit_resource resource) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  const auto value = [](rlim_t v) { return v == RLIM_INFINITY ? kUnlimited : std::uint64_t{v}; };
  return {value(limit.rlim_cur), value(limit.rlim_max)};
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns the first 12 hexadecimal digits of the SHA-256 of this program's file; empty if the file
/// cannot be read.
std::string own_build_hash() {
  const std::string file = text_of_file("/proc/self/exe");
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  if (file.empty() ||
      EVP_Digest(file.data(), file.size(), digest, nullptr, EVP_sha256(), nullptr) != 1)
    return {};
  std::string text;
  for (int i = 0; i < 6; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

void look_at_system(Facts& facts) {
  const Hello hello = describe_node();
  facts.version = hello.build;
  facts.build = own_build_hash();
  facts.host_name = hello.hostname;
  for (const NodeAddress& own : hello.addresses)
    if (!own.interface.empty()) facts.interfaces.push_back({own.interface, own.address});
  facts.cores = static_cast<int>(hello.cores);
  facts.quota_milli = static_cast<int>(hello.quota_milli);
  utsname system{};
  if (::uname(&system) == 0) {
    facts.kernel = fmt::format("{} {}", system.sysname, system.release);
    facts.machine = system.machine;
  }
  facts.os = value_in(text_of_file("/etc/os-release"), "PRETTY_NAME");
  facts.cpu = value_in(text_of_file("/proc/cpuinfo"), "model name");
  facts.boot_id = text_of_file("/proc/sys/kernel/random/boot_id");
  facts.boot_id.erase(std::min(facts.boot_id.find('\n'), facts.boot_id.size()));
  double loads[1] = {};
  if (::getloadavg(loads, 1) == 1) facts.load = loads[0];
}

void look_at_memory(Facts& facts) {
  const std::string memory = text_of_file("/proc/meminfo");
  facts.memory_bytes = kibibytes(value_in(memory, "MemTotal"));
  facts.memory_free = kibibytes(value_in(memory, "MemAvailable"));
  facts.memory_limit = MemoryCgroup::find().limit().value_or(0);
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    facts.shm_bytes = std::uint64_t{shm.f_blocks} * shm.f_frsize;
    facts.shm_free = std::uint64_t{shm.f_bavail} * shm.f_frsize;
  }
  facts.open_files = limit_of(RLIMIT_NOFILE);
  facts.locked_memory = limit_of(RLIMIT_MEMLOCK);
}

Folder look_at_folder(const std::string& path) {
  Folder folder{.path = path};
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    folder.problem = std::strerror(errno);
    return folder;
  }
  folder.is_folder = S_ISDIR(info.st_mode);
  folder.writable = ::access(path.c_str(), W_OK) == 0;
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) == 0) {
    folder.bytes = std::uint64_t{disk.f_blocks} * disk.f_frsize;
    folder.free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  return folder;
}

/// Returns the user name of a process, or the user id if the name is not known.
std::string user_of(int pid) {
  struct stat info {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &info) != 0) return {};
  const std::string uid = std::to_string(info.st_uid);
  std::ifstream passwd("/etc/passwd");
  for (std::string line; std::getline(passwd, line);) {
    const std::size_t name_end = line.find(':');
    const std::size_t uid_at = line.find(':', name_end + 1);
    if (uid_at != std::string::npos && line.compare(uid_at + 1, uid.size() + 1, uid + ":") == 0)
      return line.substr(0, name_end);
  }
  return uid;
}

void look_at_gpus(Facts& facts) {
  const auto ask = [](const char* query) {
    return run_tool({"nvidia-smi", query, "--format=csv,noheader,nounits"}, false,
                    Deadline::after(15s));
  };
  const ToolResult gpus = ask(kGpuQuery);
  if (!gpus.started || gpus.code == 127)
    facts.gpu_problem = "nvidia-smi is not on PATH";
  else if (!gpus.in_time)
    facts.gpu_problem = "nvidia-smi did not finish within 15 s";
  else if (gpus.code != 0)
    facts.gpu_problem = fmt::format("nvidia-smi: {}", last_line_of(gpus.out));
  if (!facts.gpu_problem.empty()) return;
  facts.gpus = parse_gpus(gpus.out);
  const ToolResult processes = ask(kProcessQuery);
  if (processes.code == 0) facts.gpu_processes = parse_gpu_processes(processes.out, facts.gpus);
  for (GpuProcess& process : facts.gpu_processes) process.user = user_of(process.pid);
}

/// Joins the lines with blanks and cuts the text.
std::string one_line(std::string text) {
  constexpr std::size_t kMost = 600;
  while (text.ends_with('\n')) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(" \n", at), text.size());
    text.replace(at, end - at, " ");
  }
  return text.substr(0, kMost);
}

RunnerCheck check_config(const CollectRequest& request) {
  const fs::path beside = fs::path(own_path()).parent_path() / "dsrunner";
  std::error_code error;
  std::vector<std::string> argv = {fs::exists(beside, error) ? beside.string() : "dsrunner",
                                   "--check", *request.check};
  argv.insert(argv.end(), request.check_words.begin(), request.check_words.end());
  // Relative paths in a configuration start at the working directory of the ranks.
  if (::chdir(request.folders.front().c_str()) != 0)
    return {65, "cannot enter the working directory " + request.folders.front()};
  const ToolResult result = run_tool(argv, true, Deadline::after(60s));
  if (!result.started) return {127, "dsrunner was not found on this node"};
  if (!result.in_time) return {124, "dsrunner --check did not finish within 60 s"};
  return {result.code, one_line(result.out)};
}

}  // namespace

void collect_facts(const CollectRequest& request,
                   const std::function<void(const std::string&)>& tell) {
  Facts facts;
  look_at_system(facts);
  look_at_memory(facts);
  facts.infiniband = names_in("/sys/class/infiniband");
  for (const std::string& name : names_in("/dev"))
    if (name.starts_with("nvidia") && name.size() > 6 &&
        name.find_first_not_of("0123456789", 6) == std::string::npos)
      ++facts.gpu_files;
  facts.driver = parse_driver_version(text_of_file("/proc/driver/nvidia/version"));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  facts.clock_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  tell(first_line(facts));
  if (facts.gpu_files > 0 || !facts.driver.empty()) {
    tell(doing_line("asking nvidia-smi"));
    look_at_gpus(facts);
    tell(gpu_line(facts));
  }
  for (const std::string& path : request.folders) {
    tell(doing_line("checking " + path));
    tell(folder_line(look_at_folder(path)));
  }
  if (request.check) {
    tell(doing_line("dsrunner --check " + *request.check));
    tell(check_line(check_config(request)));
  }
  tell(last_line());
}

}  // namespace ds::launcher::doctor
