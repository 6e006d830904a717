#include "launcher/copy/source_paths.h"

#include <glob.h>
#include <sys/stat.h>

namespace ds::launcher::copy {

std::vector<std::string> expand_patterns(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    struct stat known {};
    glob_t found{};
    const bool is_name = ::lstat(path.c_str(), &known) == 0;
    if (is_name || ::glob(path.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found) != 0)
      names.push_back(path);
    for (std::size_t i = 0; i < found.gl_pathc; ++i)
      names.push_back(std::string(found.gl_pathv[i]));
    ::globfree(&found);
  }
  return names;
}

}  // namespace ds::launcher::copy
