// Reserves the memory of slots, and writes and verifies headers and texts.
#include "engine/keep/kept_slot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <type_traits>

#include "engine/base/cgroup_limits.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/storage/reserved_files.h"

namespace ds {
namespace {

constexpr std::array<char, 8> kMagic{'d', 's', '-', 'k', 'e', 'p', 't', '\n'};
constexpr std::uint64_t kVersion = 1;
constexpr const char* kName = "kept states";
constexpr std::int64_t kReserved = 64 << 20;   // memory reserved at once: a signal undoes this much
constexpr std::int64_t kMostText = 1LL << 32;  // more is not a text that this program wrote
// What a head contains beside tensors, mostly the config, unless that is longer.
constexpr std::int64_t kForConfig = 64 << 10;
constexpr std::int64_t kForGrowth = 4 << 10;  // the run's name, and numbers that become longer

static_assert(std::is_trivially_copyable_v<KeptHeader> &&
                  sizeof(KeptHeader) == 9 * sizeof(std::uint64_t),
              "written as bytes, without padding");

Error error_of(const std::string& what, int error_number) {
  return {ErrorKind::system,
          fmt::format("{}: {}: {}", kName, what, std::generic_category().message(error_number))};
}

std::uint64_t checksum_of(const KeptHeader& header) {
  return XXH3_64bits(&header, offsetof(KeptHeader, checksum));
}

void write_all(int fd, const void* from, std::size_t size, std::int64_t at) {
  const auto* bytes = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t written = ::pwrite(fd, bytes, size, at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw error_of("cannot be written", written < 0 ? errno : ENOSPC);
    bytes += written;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

bool read_all(int fd, void* to, std::size_t size, std::int64_t at) {
  auto* bytes = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t count = ::pread(fd, bytes, size, at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

/// Returns 0, or the error number. A disk that is too small refuses all at once.
int reserve(int fd, std::int64_t bytes, std::int64_t at_once) {
  for (std::int64_t at = 0; at < bytes;) {
    const std::int64_t size = std::min(at_once, bytes - at);
    if (::fallocate(fd, 0, at, size) == 0) {
      at += size;
    } else if (errno == EOPNOTSUPP) {
      // Writes to each block, because a mapping of a file with holes ends the rank on a full disk.
      return ::posix_fallocate(fd, 0, bytes);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// The kernel would end a process instead of refusing the memory.
void require_free(std::int64_t bytes) {
  const std::size_t available = available_memory_bytes();
  if (bytes < 0 || static_cast<std::size_t>(bytes) <= available) return;
  throw Error(ErrorKind::system,
              fmt::format("{}: {} cannot be reserved: {} of memory are free", kName,
                          format_bytes(bytes), format_bytes(static_cast<std::int64_t>(available))));
}

UniqueFd open_anew(const std::string& folder) {
  if (!folder.empty()) return open_nameless(folder, 0);
  return UniqueFd(::memfd_create("dslaunch-kept", MFD_CLOEXEC));
}

std::int64_t file_bytes(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 ? facts.st_size : -1;
}

bool is_plausible(const KeptHeader& header, std::int64_t file) {
  return header.magic == kMagic && header.version == kVersion &&
         header.checksum == checksum_of(header) && header.text_at >= KeptSlot::kPieces &&
         header.run_bytes >= 0 && header.head_bytes >= 0 && header.text_bytes >= 0 &&
         header.text_bytes <= kMostText && header.run_bytes <= header.text_bytes &&
         header.head_bytes <= header.text_bytes - header.run_bytes && header.text_at <= file &&
         header.text_bytes <= file - header.text_at;
}

[[noreturn]] void refuse_slot(const std::string& why) { throw Error(ErrorKind::system, why); }

/// Returns whether the slot is new, or was being written.
bool is_blank(int fd) {
  KeptHeader header;
  return file_bytes(fd) < static_cast<std::int64_t>(sizeof header) ||
         (read_all(fd, &header, sizeof header, 0) && header == KeptHeader{});
}

/// Errors: Error{system} if the parts of a share do not fit together.
void check_share(const KeptShare& share, std::int64_t text_at) {
  if (KeptSlot::kPieces + share.part.chunk.bytes != text_at)
    refuse_slot("its pieces do not end where its text begins");
  if (share.part.rank >= share.head.world_size)
    refuse_slot(fmt::format("it is of rank {}, but its job has {} ranks", share.part.rank,
                            share.head.world_size));
  if (!share.head.chunks.empty()) refuse_slot("its head lists chunks");
}

}  // namespace

KeptSlot KeptSlot::create(std::int64_t bytes, const std::string& folder) {
  const bool in_memory = folder.empty();
  if (in_memory) require_free(bytes);
  UniqueFd fd = open_anew(folder);
  const int why = fd ? reserve(fd.get(), bytes, in_memory ? kReserved : bytes) : errno;
  if (why == 0) return KeptSlot(std::move(fd));
  throw error_of(fmt::format("{} cannot be reserved{}", format_bytes(bytes),
                             in_memory ? std::string() : " in " + folder),
                 why);
}

std::int64_t KeptSlot::bytes_for(const ChunkPart& part, const Manifest& head) {
  const std::int64_t usual = std::ssize(manifest_text({.tensors = head.tensors})) + kForConfig;
  const std::int64_t present = std::ssize(manifest_text(head)) + kForGrowth;
  const std::int64_t text = std::ssize(part_text(part)) + std::max(usual, present);
  return (kPieces + part.chunk.bytes + text + kPieces - 1) / kPieces * kPieces;
}

void KeptSlot::begin() {
  const KeptHeader none{};
  write_all(fd(), &none, sizeof none, 0);
}

void KeptSlot::finish(const KeptShare& share) {
  const std::string head = manifest_text(share.head);
  const std::string text = share.run + head + part_text(share.part);
  KeptHeader header{.magic = kMagic,
                    .version = kVersion,
                    .text_at = kPieces + share.part.chunk.bytes,
                    .text_bytes = std::ssize(text),
                    .run_bytes = std::ssize(share.run),
                    .head_bytes = std::ssize(head),
                    .epoch = share.epoch,
                    .text_checksum = XXH3_64bits(text.data(), text.size())};
  header.checksum = checksum_of(header);
  if (header.text_at + header.text_bytes > file_bytes(fd()))
    throw Error(ErrorKind::system,
                fmt::format("kept states: a slot of {} is too small for {} of text",
                            format_bytes(file_bytes(fd())), format_bytes(header.text_bytes)));
  write_all(fd(), text.data(), text.size(), header.text_at);
  seal(header);
}

void KeptSlot::seal(const KeptHeader& header) { write_all(fd(), &header, sizeof header, 0); }

std::optional<KeptHeader> KeptSlot::header() const {
  KeptHeader header;
  if (!read_all(fd(), &header, sizeof header, 0)) return std::nullopt;
  if (!is_plausible(header, file_bytes(fd()))) return std::nullopt;
  return header;
}

std::optional<KeptShare> KeptSlot::read(std::string* problem) const {
  try {
    const std::optional<KeptHeader> found = header();
    if (!found && !is_blank(fd())) refuse_slot("its header does not verify");
    if (!found) return std::nullopt;
    std::string text(static_cast<std::size_t>(found->text_bytes), '\0');
    if (!read_all(fd(), text.data(), text.size(), found->text_at) ||
        XXH3_64bits(text.data(), text.size()) != found->text_checksum)
      refuse_slot("its text does not verify");
    const auto run = static_cast<std::size_t>(found->run_bytes);
    const auto head = static_cast<std::size_t>(found->head_bytes);
    KeptShare share{.run = text.substr(0, run),
                    .epoch = found->epoch,
                    .head = parse_head(std::string_view(text).substr(run, head)),
                    .part = parse_part(std::string_view(text).substr(run + head))};
    check_share(share, found->text_at);
    return share;
  } catch (const Error& error) {
    if (problem != nullptr) *problem = error.what();
    return std::nullopt;
  }
}

}  // namespace ds
