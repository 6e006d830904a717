// Memory: every piece is a separate mapping of inaccessible page, guard bytes, data, guard bytes,
// inaccessible page.
#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace emulation {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuard = 512;  // checked on both sides after every kernel
constexpr unsigned char kGuardByte = 0xC7;
// Larger pieces are filled only up to here, so that unused pages are not touched.
constexpr std::size_t kFilled = std::size_t{256} << 20;

std::size_t to_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Returns the first of `bytes` from `from` on that is not a guard byte; `bytes` if all are.
std::size_t first_changed(const std::byte* from, std::size_t bytes) {
  static const auto pattern = [] {
    std::array<unsigned char, kGuard> all{};
    all.fill(kGuardByte);
    return all;
  }();
  if (std::memcmp(from, pattern.data(), bytes) == 0) return bytes;
  std::size_t i = 0;
  while (from[i] == std::byte{kGuardByte}) ++i;
  return i;
}

}  // namespace

void Memory::protect(int rights) {
  for (const auto& [data, piece] : pieces_) {
    if (piece.type != cudaMemoryTypeDevice) continue;
    if (mprotect(piece.mapped + kPage, piece.mapped_bytes - 2 * kPage, rights) != 0) std::abort();
  }
}

void Memory::hide() {
  if (!hides_ || hidden_) return;
  protect(PROT_NONE);
  hidden_ = true;
}

void Memory::show() {
  if (!hidden_) return;
  protect(PROT_READ | PROT_WRITE);
  hidden_ = false;
}

void Memory::set_hides(bool hides) {
  show();
  hides_ = hides;
  if (!hides) return;
  // Kernels have their own handler while they run.
  std::signal(SIGSEGV, [](int) {
    constexpr char kText[] = "cuda_emulation: the host accessed memory that is not its own\n";
    static_cast<void>(!write(STDERR_FILENO, kText, sizeof(kText) - 1));
    std::signal(SIGSEGV, SIG_DFL);  // the instruction is retried and ends the process
  });
}

void* Memory::map_piece(std::size_t bytes, cudaMemoryType type) {
  const std::size_t room = to_pages(bytes + kGuard);
  const std::size_t whole = kPage + kPage + room + kPage;
  void* const mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const start = static_cast<std::byte*>(mapped);
  if (mprotect(start, kPage, PROT_NONE) != 0 ||
      mprotect(start + whole - kPage, kPage, PROT_NONE) != 0) {
    std::abort();
  }
  std::byte* const data = start + 2 * kPage;
  std::memset(data - kGuard, kGuardByte, kGuard);
  std::memset(data + bytes, kGuardByte, kGuard);
  pieces_[data] = {bytes, type, start, whole, false};
  return data;
}

void* Memory::allocate(std::size_t bytes, std::size_t capacity) {
  show();
  if (bytes > capacity || used_ > capacity - bytes) return nullptr;
  void* const data = map_piece(bytes, cudaMemoryTypeDevice);
  if (data == nullptr) return nullptr;
  std::memset(data, 0xFF, std::min(bytes, kFilled));
  used_ += bytes;
  return data;
}

void* Memory::allocate_host(std::size_t bytes) { return map_piece(bytes, cudaMemoryTypeHost); }

bool Memory::release(void* data, cudaMemoryType type, std::string* complaint) {
  show();
  const auto piece = pieces_.find(static_cast<std::byte*>(data));
  if (piece == pieces_.end() || piece->second.type != type || piece->second.mapped == nullptr) {
    return false;
  }
  if (!piece->second.reported) *complaint = complaint_of(piece->first, piece->second);
  if (type == cudaMemoryTypeDevice) used_ -= piece->second.bytes;
  munmap(piece->second.mapped, piece->second.mapped_bytes);
  pieces_.erase(piece);
  return true;
}

cudaError_t Memory::enlist(void* data, std::size_t bytes) {
  auto* const from = static_cast<std::byte*>(data);
  if (from == nullptr || bytes == 0) return cudaErrorInvalidValue;
  const auto next = pieces_.lower_bound(from);
  if (next != pieces_.end() && next->first < from + bytes)
    return cudaErrorHostMemoryAlreadyRegistered;
  if (next != pieces_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes > from) return cudaErrorHostMemoryAlreadyRegistered;
  }
  pieces_[from] = {bytes, cudaMemoryTypeHost, nullptr, 0, false};
  return cudaSuccess;
}

cudaError_t Memory::strike_off(void* data) {
  const auto piece = pieces_.find(static_cast<std::byte*>(data));
  if (piece == pieces_.end() || piece->second.mapped != nullptr) {
    return cudaErrorHostMemoryNotRegistered;
  }
  pieces_.erase(piece);
  return cudaSuccess;
}

Memory::Pieces::const_iterator Memory::find(const void* data) const {
  auto* const at = static_cast<std::byte*>(const_cast<void*>(data));
  auto after = pieces_.upper_bound(at);
  if (after == pieces_.begin()) return pieces_.end();
  --after;
  return at <= after->first + after->second.bytes ? after : pieces_.end();
}

cudaMemoryType Memory::type_of(const void* data) const {
  const auto piece = find(data);
  return piece == pieces_.end() ? cudaMemoryTypeUnregistered : piece->second.type;
}

bool Memory::reachable(const void* data, std::size_t bytes) const {
  const auto piece = find(data);
  if (piece == pieces_.end()) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(data) - piece->first);
  return bytes <= piece->second.bytes - offset;
}

std::string Memory::complaint_of(std::byte* data, const Piece& piece) {
  if (piece.mapped == nullptr) return {};
  const std::string size = std::to_string(piece.bytes) + " bytes";
  const std::size_t behind = first_changed(data + piece.bytes, kGuard);
  if (behind < kGuard) {
    return "memory was written " + std::to_string(behind) + " bytes behind an allocation of " +
           size;
  }
  const std::size_t before = first_changed(data - kGuard, kGuard);
  if (before < kGuard) {
    return "memory was written " + std::to_string(kGuard - before) +
           " bytes before the start of an allocation of " + size;
  }
  return {};
}

std::string Memory::check_guards() {
  show();
  for (auto& [data, piece] : pieces_) {
    if (piece.reported) continue;
    std::string complaint = complaint_of(data, piece);
    if (complaint.empty()) continue;
    piece.reported = true;
    return complaint;
  }
  return {};
}

}  // namespace emulation
