// Rule about names: two types of one name in one namespace would be the same type for the linker.
#include <map>
#include <regex>
#include <sstream>

#include "architecture/rules.h"

namespace ds::test {
namespace {

/// Calls action(name with its namespaces, line) for each type that a header defines outside of
/// others. Relies on the format of this tree: such lines begin at the left, and a namespace ends
/// with its name in a comment.
template <class Action>
void for_each_type(const SourceFile& file, const Action& action) {
  static const std::regex opens(R"(^(?:inline )?namespace ([\w:]*) ?\{.*)");
  static const std::regex type(R"(^(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;]*)? \{.*)");
  std::vector<std::string> spaces;
  std::istringstream text(file.text);
  std::string line;
  std::smatch match;
  for (int number = 1; std::getline(text, line); ++number) {
    if (std::regex_match(line, match, opens)) {
      spaces.push_back(match[1]);
    } else if (line.starts_with("}  // namespace") && !spaces.empty()) {
      spaces.pop_back();
    } else if (std::regex_match(line, match, type)) {
      std::string name;
      for (const std::string& space : spaces) name += space + "::";
      action(name + match[1].str(), number);
    }
  }
}

/// Returns whether a header is linked into the two programs; the tests are many programs.
bool is_of_programs(const std::string& path) {
  return path.starts_with("engine/") || path.starts_with("runner/") ||
         path.starts_with("launcher/");
}

}  // namespace

std::vector<Violation> check_names(const std::vector<SourceFile>& files) {
  std::map<std::string, std::string> seen;
  std::vector<Violation> found;
  for (const SourceFile& file : files) {
    if (!file.is_header() || !is_of_programs(file.path)) continue;
    for_each_type(file, [&](const std::string& name, int line) {
      const auto [first, is_new] = seen.emplace(name, file.path);
      if (is_new || first->second == file.path) return;
      found.push_back({file.path, line, "defined-twice",
                       name + " is defined in " + first->second + ", too: rename one"});
    });
  }
  return found;
}

}  // namespace ds::test
