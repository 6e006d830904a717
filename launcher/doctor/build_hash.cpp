// Hash of /proc/self/exe with OpenSSL.
#include "launcher/doctor/build_hash.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::launcher::doctor {

std::string own_build_hash() {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  constexpr unsigned kShownBytes = 6;
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  if (!file || !context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) return {};
  std::vector<char> buffer(kPiece);
  ssize_t got = 0;
  while ((got = ::read(file.get(), buffer.data(), buffer.size())) > 0)
    EVP_DigestUpdate(context.get(), buffer.data(), static_cast<std::size_t>(got));
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  unsigned size = 0;
  if (got < 0 || EVP_DigestFinal_ex(context.get(), digest, &size) != 1 || size < kShownBytes)
    return {};
  std::string text;
  for (unsigned i = 0; i < kShownBytes; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace ds::launcher::doctor
