#include "engine/report/read_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.h"
#include "engine/config/toml_reader.h"

namespace ds::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostOfSmallFile = std::size_t{4} << 20;
constexpr std::string_view kMetrics = "metrics.jsonl";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

OpenFile open_to_read(const fs::path& path) {
  OpenFile file(std::fopen(path.c_str(), "rbe"));
  if (!file)
    throw Error(ErrorKind::config,
                fmt::format("{} cannot be read: {}", path.string(), std::strerror(errno)));
  return file;
}

/// Feeds the lines of a file, which may be growing, to `lines`.
void read_lines(const fs::path& path, PartLines& lines) {
  const OpenFile file = open_to_read(path);
  std::vector<char> block(kLongestLine);
  std::string rest;
  bool is_too_long = false;
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get())) {
    std::string_view text(block.data(), got);
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;
         text.remove_prefix(end + 1)) {
      rest += text.substr(0, end);
      is_too_long || rest.size() > kLongestLine ? lines.add_too_long() : lines.add(rest);
      is_too_long = false;
      rest.clear();
    }
    if (!is_too_long) rest += text;
    is_too_long = is_too_long || rest.size() > kLongestLine;
    if (is_too_long) rest.clear();
  }
  if (is_too_long)
    lines.add_too_long();
  else if (!rest.empty())
    lines.add(rest, true);
}

/// Returns at most 4 MiB of a file; empty without one.
std::string small_file(const fs::path& path) {
  std::error_code status;
  if (!fs::is_regular_file(path, status)) return {};
  const OpenFile file = open_to_read(path);
  std::string text(kMostOfSmallFile, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

/// Returns the members of an object; nothing of a file that is not one. Strings are without quotes.
TextByKey members_of(const std::string& text) {
  TextByKey members;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return members;
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  for (const auto& [key, value] : json.items())
    if (!value.is_null())
      members[key] =
          value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', 0, kReplace);
  return members;
}

/// Returns the keys of a config.toml; nothing of one that cannot be parsed.
TextByKey keys_of(const std::string& text, const std::string& path) {
  TextByKey keys;
  try {
    for (const Entry& entry : read_toml(text, path, "/"))
      if (entry.key != "log.dir") keys[entry.key] = to_toml(entry.value);
  } catch (const Error&) {
    keys.clear();  // A damaged config hides the differences, not the curves.
  }
  return keys;
}

std::optional<std::int64_t> time_of(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return static_cast<std::int64_t>(found.st_mtime);
}

// Epochs of a job share the files of a folder; the last one has written the summary.
std::vector<RunPart> read_parts(const fs::path& folder, const std::string& name) {
  const std::string file = (fs::path(name) / kMetrics).string();
  PartLines lines(file);
  read_lines(folder / file, lines);
  std::vector<RunPart> parts = lines.take();
  const fs::path base = folder / name;
  for (RunPart& part : parts) {
    part.name = name;
    part.config = keys_of(small_file(base / "config.toml"), (base / "config.toml").string());
    part.start = members_of(small_file(base / "run.json"));
    part.begun = time_of(base / "config.toml");
    part.changed = time_of(folder / file);
  }
  parts.back().summary = members_of(small_file(base / "summary.json"));
  return parts;
}

/// Returns previous-N that have a metrics.jsonl, by their numbers.
std::vector<std::string> earlier_parts(const fs::path& folder) {
  constexpr std::string_view kPrevious = "previous-";
  std::vector<std::pair<int, std::string>> found;
  std::error_code status;
  for (const auto& entry : fs::directory_iterator(folder, status)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrevious)) continue;
    int number = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kPrevious.size(), end, number);
    if (error == std::errc() && stop == end && fs::is_regular_file(entry.path() / kMetrics, status))
      found.emplace_back(number, name);
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto& [number, name] : found) names.push_back(std::move(name));
  return names;
}

[[noreturn]] void refuse_folder(const fs::path& folder) {
  std::error_code status;
  std::string hint = "name the folder that dsrunner printed as its run folder (log.dir)";
  for (const auto& entry : fs::directory_iterator(folder, status))
    if (fs::is_regular_file(entry.path() / kMetrics, status))
      hint = fmt::format("it contains run folders; name them: dslaunch report {}",
                         (folder / "*").string());
  throw Error(ErrorKind::config,
              fmt::format("{} is not a run folder: it has no metrics.jsonl", folder.string()),
              hint);
}

}  // namespace

bool is_other_folder(const std::string& path) {
  std::error_code status;
  return fs::is_directory(path, status) && !fs::exists(fs::path(path) / kMetrics, status);
}

RunFiles read_run(const std::string& path) {
  std::error_code status;
  fs::path folder = fs::canonical(path, status);
  if (status)
    throw Error(ErrorKind::config, fmt::format("run {}: {}", path, status.message()),
                "name the folder that dsrunner printed as its run folder (log.dir)");
  if (!fs::is_directory(folder, status))
    throw Error(ErrorKind::config, fmt::format("run {}: this is not a folder", path),
                "name the folder that contains metrics.jsonl");
  std::vector<std::string> names = earlier_parts(folder);
  if (fs::is_regular_file(folder / kMetrics, status)) names.emplace_back();
  if (names.empty()) refuse_folder(folder);
  RunFiles run{.path = folder.string(), .parts = {}};
  for (const std::string& name : names)
    for (RunPart& part : read_parts(folder, name)) run.parts.push_back(std::move(part));
  return run;
}

}  // namespace ds::report
