// What a node tells about itself: the value, and its form on the way. Pure.
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
  int gpu = -1;  // index; -1: not known
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
  std::string problem{};  // "No such file or directory"; empty: it is there
  bool is_folder = false;
  bool writable = false;
  std::uint64_t bytes = 0, free_bytes = 0;  // of its file system
};
struct Interface {
  std::string name{};
  std::string address{};
};
/// `dsrunner --check FILE`.
struct RunnerCheck {
  int code = 0;
  std::string words{};  // what it said
};

struct Facts {
  std::string version{}, build{};  // of dslaunch there; `build` is the start of its SHA-256
  std::string host_name{}, kernel{}, os{}, machine{}, cpu{}, boot_id{};
  std::int64_t clock_ms = 0;  // since 1970
  int cores = 0;              // by affinity
  int quota_milli = 0;        // cgroup limit in thousandths of a core; 0: none
  double load = 0;            // mean of a minute
  std::uint64_t memory_bytes = 0, memory_free = 0;
  std::uint64_t memory_limit = 0;  // of the cgroup; 0: none
  std::uint64_t shm_bytes = 0, shm_free = 0;
  Limit open_files{}, locked_memory{};
  std::vector<std::string> infiniband{};
  std::vector<Interface> interfaces{};
  int gpu_files = 0;  // /dev/nvidia0 and so on
  std::string driver{};
  std::vector<Gpu> gpus{};  // as nvidia-smi tells
  std::vector<GpuProcess> gpu_processes{};
  std::string gpu_problem{};           // why nvidia-smi did not tell
  std::vector<Folder> folders{};       // working directory, /tmp, then those asked for
  std::optional<RunnerCheck> check{};  // if asked for
  std::string doing{};                 // what it was at when it was cut off
  bool complete = false;
};

/// GPUs that can be seen one way or the other.
int gpu_count(const Facts& facts);

/// One line of JSON for what is known at once, then one for each thing that may take its time, so
/// that a node that gets stuck has told the rest.
std::string first_line(const Facts& facts);
std::string doing_line(const std::string& what);
std::string gpu_line(const Facts& facts);
std::string folder_line(const Folder& folder);
std::string check_line(const RunnerCheck& check);
std::string last_line();

/// Reads such lines, in whatever order and number; what is no JSON, or of another type, is passed
/// over.
Facts parse_facts(std::string_view lines);

}  // namespace ds::launcher::doctor
