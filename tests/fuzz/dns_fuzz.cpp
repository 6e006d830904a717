// Fuzz target: any bytes as the answer of a name server (negative TTL), as resolv.conf, as
// nsswitch.conf and as a name. Reading ends, and the results keep their promises.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/base/error.h"
#include "launcher/dns/dns_config.h"
#include "launcher/dns/lookup_state.h"

using namespace ds::launcher;

namespace {

/// A file whose text is replaced for each input, for c-ares reads resolv.conf from disk.
class ConfigFile {
 public:
  ConfigFile() {
    char path[] = "/tmp/dns_fuzz.XXXXXX";
    fd_ = ::mkstemp(path);
    DS_ASSERT(fd_ >= 0);
    ::unlink(path);
  }
  std::string with(const std::uint8_t* data, std::size_t size) {
    DS_ASSERT(::ftruncate(fd_, 0) == 0);
    DS_ASSERT(::pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size));
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_ = -1;
};

void check_names(std::string_view name, const DnsConfig& config) {
  const auto names = candidate_names(name, config);
  DS_ASSERT(!names.empty() && names.size() <= kMaxCandidates);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ConfigFile file;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto ttl = negative_ttl({data, size})) DS_ASSERT(ttl->count() >= 0);
  (void)has_further_sources(text);
  const DnsConfig config = read_dns_config(file.with(data, size));
  DS_ASSERT(!config.servers.empty());
  check_names("gpt-0.gpt", config);
  check_names(text, config);
  return 0;
}
