// Rules about CMake lists: nothing lies in the tree unbuilt or unrun.
#include <cctype>
#include <map>
#include <regex>

#include "architecture/rules.h"

namespace ds::test {
namespace {

using Lists = std::map<std::string, std::string_view>;  // folder -> text of its CMakeLists.txt

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

bool must_be_listed(const std::string& path) {
  return path.ends_with(".cpp") || path.ends_with(".cu") ||
         (path.starts_with("tests/e2e/") && path.ends_with(".sh"));
}

/// Whether `name` stands in `list` as a whole word, not as the end of another file's name.
bool names(std::string_view list, const std::string& name) {
  for (std::size_t at = list.find(name); at != std::string_view::npos;
       at = list.find(name, at + 1)) {
    const auto is_part = [&](std::size_t i) {
      return i < list.size() && (std::isalnum(static_cast<unsigned char>(list[i])) != 0 ||
                                 list[i] == '_' || list[i] == '-' || list[i] == '.');
    };
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + name.size())) return true;
  }
  return false;
}

}  // namespace

std::vector<Violation> check_lists(const std::vector<SourceFile>& files) {
  Lists lists;
  for (const SourceFile& file : files) {
    if (file.path.ends_with("CMakeLists.txt")) lists[parent_of(file.path)] = file.text;
  }
  std::vector<Violation> found;
  for (const SourceFile& file : files) {
    if (!must_be_listed(file.path)) continue;
    std::string folder = parent_of(file.path);
    while (!folder.empty() && !lists.contains(folder)) folder = parent_of(folder);
    const std::string name = folder.empty() ? file.path : file.path.substr(folder.size() + 1);
    if (folder.empty() || !names(lists[folder], name)) {
      found.push_back({file.path, 1, "not-built",
                       folder.empty() ? "no CMakeLists.txt above it"
                                      : name + " is not named in " + folder + "/CMakeLists.txt"});
    }
  }
  return found;
}

std::vector<Violation> check_all(const std::vector<SourceFile>& files) {
  std::vector<Violation> found = check_includes(files);
  for (Violation& violation : check_text(files)) found.push_back(std::move(violation));
  for (Violation& violation : check_lists(files)) found.push_back(std::move(violation));
  for (Violation& violation : check_names(files)) found.push_back(std::move(violation));
  return found;
}

}  // namespace ds::test
