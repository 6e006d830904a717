// Facts that a node reports about itself, their line format, and texts of amounts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher::doctor {

inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

struct Gpu {
  int index = 0;
  std::string name{};
  std::string uuid{};
  std::uint64_t memory_mib = 0;
};
struct GpuProcess {
  int gpu = -1;  // index of the GPU; -1: not known
  int pid = 0;
  std::uint64_t memory_mib = 0;
  std::string name{};
  std::string user{};
};
struct Limit {
  std::uint64_t soft = 0, hard = 0;
};
struct Folder {
  std::string path{};
  std::string problem{};  // "No such file or directory"; empty if it exists
  bool is_folder = false;
  bool writable = false;
  std::uint64_t bytes = 0, free_bytes = 0;  // size and free space of its file system
};
struct Interface {
  std::string name{};
  std::string address{};
};
/// Result of `dsrunner --check FILE`.
struct RunnerCheck {
  int code = 0;
  std::string words{};  // its output
};

struct Facts {
  std::string version{}, build{};  // of dslaunch there; `build` begins its SHA-256
  std::string host_name{}, kernel{}, os{}, machine{}, cpu{}, boot_id{};
  std::int64_t clock_ms = 0;  // since 1970
  int cores = 0;              // by affinity
  int quota_milli = 0;        // cgroup limit in thousandths of a core; 0: no limit
  double load = 0;            // load average of one minute
  std::uint64_t memory_bytes = 0, memory_free = 0;
  std::uint64_t memory_limit = 0;  // limit of the cgroup; 0: no limit
  std::uint64_t shm_bytes = 0, shm_free = 0;
  Limit open_files{}, locked_memory{};
  std::vector<std::string> infiniband{};
  std::vector<Interface> interfaces{};
  int gpu_files = 0;  // /dev/nvidia0 and so on
  std::string driver{};
  std::vector<Gpu> gpus{};  // as reported by nvidia-smi
  std::vector<GpuProcess> gpu_processes{};
  std::string gpu_problem{};           // why nvidia-smi gave no answer
  std::vector<Folder> folders{};       // working directory, /tmp, then the paths of --path
  std::optional<RunnerCheck> check{};  // if requested
  std::string doing{};                 // the check in progress when the lines ended
  bool complete = false;
};

/// Returns the number of GPUs, by device files or nvidia-smi, whichever is higher.
int gpu_count(const Facts& facts);

/// Return lines of JSON: one for what is known at once, then one for each check that may take time.
/// A node that hangs has then reported the rest.
std::string first_line(const Facts& facts);
std::string doing_line(const std::string& what);
std::string gpu_line(const Facts& facts);
std::string folder_line(const Folder& folder);
std::string check_line(const RunnerCheck& check);
std::string last_line();

/// Parses such lines in any order and number. Lines that are not JSON and values of another type
/// are skipped.
Facts parse_facts(std::string_view lines);

// Texts of amounts, with about three digits.

/// Formats bytes with a binary unit: "503 GiB", "1.5 TiB", "64 MiB".
std::string bytes_text(std::uint64_t bytes);
/// Formats a limit: "unlimited", "1048576", or with `bytes` "8 MiB".
std::string limit_text(std::uint64_t limit, bool bytes);
/// Formats milliseconds: "1.5 s", "3 min", "1.2 h".
std::string seconds_text(std::int64_t milliseconds);
/// Formats the number of cores: "64", or "8 of 64" under a cgroup quota.
std::string cores_text(const Facts& facts);
/// Formats the GPUs: "8 NVIDIA H100 80GB HBM3", "none", or "4" if only the device files are known.
std::string gpus_text(const Facts& facts);

}  // namespace ds::launcher::doctor
