// Reader of the texts described in worlds/README.md.
#include "unit/sources/world_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace ds::test {
namespace {

using ds::launcher::FileText;

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

using Files = std::map<std::string, FileText>;

void give_files(ds::launcher::World& world, const std::shared_ptr<Files>& files) {
  world.read_file = [files](const std::string& path) {
    const auto found = files->find(path);
    if (found != files->end()) return found->second;
    return FileText{.text = {}, .problem = "No such file or directory", .missing = true};
  };
  world.list_folder = [files](const std::string& path) {
    std::vector<std::string> names;
    for (const auto& entry : *files)
      if (entry.first.starts_with(path + "/")) names.push_back(entry.first.substr(path.size() + 1));
    return names;
  };
}

}  // namespace

WorldFile load_world(const std::string& path) {
  WorldFile file{.name = std::filesystem::path(path).stem().string(), .world = {}, .checks = {}};
  const auto files = std::make_shared<Files>();
  std::string* body = nullptr;
  std::ifstream in(path);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("  ") && body != nullptr) {
      *body += line.substr(2) + "\n";
      continue;
    }
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t blank = line.find(' ');
    const std::string key = line.substr(0, blank);
    const std::string rest = blank == std::string::npos ? "" : line.substr(blank + 1);
    body = nullptr;
    if (key == "hostname") {
      file.world.hostname = rest;
    } else if (key == "address") {
      file.world.addresses.push_back(rest);
    } else if (key == "env") {
      file.world.environment[rest.substr(0, rest.find('='))] = rest.substr(rest.find('=') + 1);
    } else if (key == "file") {
      body = &(*files)[split(rest).front()].text.emplace();
    } else if (key == "unreadable") {
      (*files)[rest] = {.text = {}, .problem = "Permission denied"};
    } else if (key == "peers" || key == "hosts" || key == "own") {
      file.checks.push_back({.what = key, .words = split(rest), .expected = {}, .line = number});
      body = &file.checks.back().expected;
    } else {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": unknown word " + key);
    }
  }
  give_files(file.world, files);
  return file;
}

std::vector<std::string> world_paths() {
  std::vector<std::string> paths;
  const std::string folder = std::string(DS_SOURCE_DIR) + "/tests/unit/sources/worlds";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace ds::test
