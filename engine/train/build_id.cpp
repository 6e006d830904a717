// Computes the id of the running binary and formats library versions.
#include "engine/train/build_id.h"

#include <xxhash.h>

#include "engine/base/error.h"
#include "engine/data/mapped_file.h"

namespace ds {

std::string digest_of(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string build_id() {
  static const std::string id = [] {
    const MappedFile self("/proc/self/exe");
    return digest_of({reinterpret_cast<const char*>(self.bytes().data()), self.bytes().size()});
  }();
  return id;  // cached: every save needs it while training waits
}

std::string library_versions() { return fmt::format("dslaunch {}", DS_VERSION); }

}  // namespace ds
