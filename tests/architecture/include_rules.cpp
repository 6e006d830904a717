// Who may include what: the table of ARCHITECTURE.md ("Dependency direction") as data.
#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "architecture/rules.h"

namespace ds::test {
namespace {

using Prefixes = std::vector<std::string_view>;

/// Files below `from` may include project files below `to`. The first row that matches a file
/// counts.
struct Direction {
  std::string_view from;
  Prefixes to;
};
const std::vector<Direction> kDirections = {
    {"launcher/", {"launcher/", "engine/base/", "engine/library/open_library.h"}},
    {"runner/", {"runner/", "engine/"}},
    {"engine/base/", {"engine/base/"}},
    {"engine/chat/", {"engine/chat/", "engine/tokenizer/", "engine/base/"}},
    {"engine/deepspeed/", {"engine/deepspeed/", "engine/base/"}},
    {"engine/library/", {"engine/library/", "engine/base/"}},
    {"engine/packing/",
     {"engine/packing/", "engine/chat/", "engine/config/", "engine/library/", "engine/tokenizer/",
      "engine/base/"}},
    {"engine/tokenizer_training/",
     {"engine/tokenizer_training/", "engine/packing/", "engine/tokenizer/", "engine/base/"}},
    {"engine/storage/", {"engine/storage/", "engine/base/"}},
    {"engine/", {"engine/"}},
};

/// Headers that start with one of `headers` may be included only by files below `allowed`.
struct Library {
  std::string_view name;
  Prefixes headers;
  Prefixes allowed;
};
const std::vector<Library> kLibraries = {
    {"libssh", {"libssh/"}, {"launcher/transport/libssh/"}},
    {"c-ares", {"ares.h", "ares_"}, {"launcher/dns/"}},
    {"Asio", {"asio.hpp", "asio/"}, {"launcher/"}},
    {"CLI11", {"CLI/"}, {"launcher/cli/split_words.cpp"}},
    {"toml++", {"toml++/", "toml.hpp"}, {"engine/config/"}},
    {"Gloo", {"gloo/"}, {}},
    {"oneDNN", {"oneapi/", "dnnl"}, {"engine/kernels/cpu/", "engine/device/cpu/"}},
    {"CUDA",
     {"cuda", "cublas", "cudnn", "nccl", "nvml", "cooperative_groups", "cub/", "driver_types",
      "vector_types"},
     {"engine/kernels/cuda/", "engine/device/cuda/", "engine/comm/nccl/"}},
    {"OpenSSL", {"openssl/"}, {"launcher/", "runner/", "engine/comm/"}},
    {"JSON", {"nlohmann/"}, {"launcher/", "runner/", "engine/"}},
    {"xxHash", {"xxhash"}, {"engine/", "launcher/copy/"}},
    {"Apache Arrow", {"arrow/", "parquet/"}, {"engine/packing/parquet/"}},
    {"OpenPMIx", {"pmix"}, {"launcher/pmix/"}},
    {"zlib", {"zlib"}, {"engine/packing/"}},
    {"zstd", {"zstd"}, {"engine/packing/"}},
    {"io_uring", {"linux/io_uring", "liburing"}, {"engine/storage/"}},
};

/// Folders that are in plugins alone, so nothing else may include them.
const Prefixes kPluginFolders = {"engine/device/cuda/", "engine/kernels/cuda/", "engine/comm/nccl/",
                                 "engine/packing/parquet/", "launcher/pmix/"};
constexpr std::string_view kPluginEntry = "engine/plugin/cuda_plugin.cpp";

struct Include {
  std::string path;
  bool quoted = false;
  int line = 0;
};

bool below_any(std::string_view path, const Prefixes& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return path.starts_with(prefix); });
}

std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex form(R"re(\s*#\s*include\s*(["<])([^">]+)[">].*)re");
  std::vector<Include> includes;
  std::istringstream text(file.text);
  std::istringstream code(file.code);
  std::string code_line;
  int number = 0;
  for (std::string line; std::getline(text, line) && std::getline(code, code_line);) {
    ++number;
    std::smatch match;
    const bool is_code = code_line.find("include") != std::string::npos;  // Not inside a comment.
    if (is_code && std::regex_match(line, match, form)) {
      includes.push_back({match[2], match[1] == "\"", number});
    }
  }
  return includes;
}

/// "engine/comm" for engine/comm/mesh/mesh.h; a backend's folder belongs to the folder of its seam.
std::string folder_of(const std::string& path) {
  const std::size_t second = path.find('/', path.find('/') + 1);
  return second == std::string::npos ? path : path.substr(0, second);
}

bool is_product(std::string_view path) {
  return below_any(path, {"launcher/", "runner/", "engine/"});
}

void check_library(const SourceFile& file, const Include& include, std::vector<Violation>& found) {
  for (const Library& library : kLibraries) {
    if (!below_any(include.path, library.headers)) continue;
    const bool in_base = file.path.starts_with("engine/base/");
    if (!in_base && below_any(file.path, library.allowed)) continue;
    found.push_back({file.path, include.line, "include-library",
                     std::string(library.name) + " cannot be included here: " + include.path});
  }
}

void check_plugin(const SourceFile& file, const Include& include, std::vector<Violation>& found) {
  if (!below_any(include.path, kPluginFolders)) return;
  if (below_any(file.path, kPluginFolders) || file.path == kPluginEntry) return;
  found.push_back({file.path, include.line, "include-plugin",
                   "only the plugin includes its own folders: " + include.path});
}

void check_direction(const SourceFile& file, const Include& include,
                     const std::set<std::string_view>& paths, std::vector<Violation>& found) {
  if (!paths.contains(include.path)) {
    found.push_back({file.path, include.line, "include-missing",
                     "no such file from the top of the tree: " + include.path});
    return;
  }
  const auto row = std::find_if(kDirections.begin(), kDirections.end(),
                                [&](const Direction& d) { return file.path.starts_with(d.from); });
  if (row != kDirections.end() && !below_any(include.path, row->to)) {
    found.push_back({file.path, include.line, "include-direction",
                     std::string(row->from) + " cannot include " + include.path});
  }
}

/// Folders and what they include, with one place that shows each edge.
using FolderGraph = std::map<std::string, std::map<std::string, Violation>>;

bool reaches(const FolderGraph& graph, const std::string& from, const std::string& to,
             std::set<std::string>& seen) {
  if (from == to) return true;
  const auto node = graph.find(from);
  if (!seen.insert(from).second || node == graph.end()) return false;
  return std::any_of(node->second.begin(), node->second.end(),
                     [&](const auto& edge) { return reaches(graph, edge.first, to, seen); });
}

void check_cycles(const FolderGraph& graph, std::vector<Violation>& found) {
  for (const auto& [from, edges] : graph) {
    for (const auto& [to, place] : edges) {
      std::set<std::string> seen;
      if (reaches(graph, to, from, seen)) found.push_back(place);
    }
  }
}

}  // namespace

std::vector<Violation> check_includes(const std::vector<SourceFile>& files) {
  std::set<std::string_view> paths;
  for (const SourceFile& file : files) paths.insert(file.path);
  std::vector<Violation> found;
  FolderGraph graph;
  for (const SourceFile& file : files) {
    if (!file.is_cpp() || !is_product(file.path)) continue;
    for (const Include& include : includes_of(file)) {
      check_library(file, include, found);
      check_plugin(file, include, found);
      if (!include.quoted) continue;
      check_direction(file, include, paths, found);
      const std::string from = folder_of(file.path);
      const std::string to = folder_of(include.path);
      if (from == to || file.path.ends_with("/main.cpp")) continue;
      graph[from].try_emplace(to, Violation{file.path, include.line, "folder-cycle",
                                            from + " and " + to + " include each other"});
    }
  }
  check_cycles(graph, found);
  return found;
}

}  // namespace ds::test
