// open_library(): by dlopen().
#include "engine/library/open_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string_view>

#include "engine/library/build_tag.h"

namespace ds {
namespace {

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return ".";
  const std::string text(path, static_cast<std::size_t>(length));
  return text.substr(0, text.rfind('/'));
}

std::vector<std::string> candidates(const LibrarySearch& search) {
  const char* const given = std::getenv(search.variable);
  if (given != nullptr && *given != '\0') return {given};
  std::vector<std::string> paths;
  const std::string folder = own_folder();
  for (const std::string& file : search.files) {
    paths.push_back(folder + "/" + file);
    paths.push_back(folder + "/../lib/" + file);
  }
  return paths;
}

}  // namespace

OpenedLibrary open_library(const LibrarySearch& search) {
  std::string reasons;
  for (const std::string& path : candidates(search)) {
    // Binds all symbols at once: a missing one must show here, not in the middle of a step.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const reason = dlerror();
      reasons += fmt::format("\n  {}", reason != nullptr ? reason : path);
      continue;
    }
    void* const entry = dlsym(library, search.entry);
    if (entry != nullptr) return {path, entry};
    throw Error(ErrorKind::config, fmt::format("{} is not a dslaunch plugin: {}", path, dlerror()));
  }
  throw Error(ErrorKind::config, fmt::format("{} cannot be opened:{}", search.name, reasons),
              search.hint);
}

void require_same_build(const std::string& path, const char* build) {
  if (std::string_view(build) == build_tag()) return;
  throw Error(ErrorKind::config,
              fmt::format("{} and this program were built from different sources ({} and {})", path,
                          build, build_tag()),
              "build and install both together");
}

}  // namespace ds
