// Wire: the mapped file. All zeros is a valid empty state, so no rank has to initialize it.
#include "cuda_emulation/fake_nccl/wire.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace fake_nccl {

struct Wire::Shared {
  std::atomic<int> came;
  Ring rings[];  // from * ranks + to
};

namespace {

std::size_t bytes_for(int ranks) {
  const auto pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
  return sizeof(std::atomic<int>) + alignof(Ring) + pairs * sizeof(Ring);
}

}  // namespace

std::string Wire::make_name() {
  const char* const folder = ::getenv("TMPDIR");
  std::string name = std::string(folder != nullptr ? folder : "/tmp") + "/fake_nccl_XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return "";
  ::close(fd);
  return name;
}

std::unique_ptr<Wire> Wire::join(const std::string& name, int rank, int ranks) {
  const int fd = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(bytes_for(ranks))) == 0)
    memory = ::mmap(nullptr, bytes_for(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) return nullptr;
  std::unique_ptr<Wire> wire(new Wire(static_cast<Shared*>(memory), rank, ranks));
  if (wire->shared_->came.fetch_add(1) + 1 == ranks) ::unlink(name.c_str());
  return wire;
}

Wire::~Wire() { ::munmap(shared_, bytes_for(ranks_)); }

bool Wire::all_came() const { return shared_->came.load() == ranks_; }

Ring& Wire::ring(int from, int to) const { return shared_->rings[from * ranks_ + to]; }

std::size_t Wire::push(int to, const std::byte* data, std::size_t bytes) {
  Ring& ring = this->ring(rank_, to);
  const std::uint64_t written = ring.written.load(std::memory_order_relaxed);
  const std::uint64_t free = kRing - (written - ring.taken.load(std::memory_order_acquire));
  const std::size_t count = std::min<std::size_t>(bytes, free);
  const std::size_t at = written % kRing, first = std::min(count, kRing - at);
  std::memcpy(ring.bytes + at, data, first);
  std::memcpy(ring.bytes, data + first, count - first);
  ring.written.store(written + count, std::memory_order_release);
  return count;
}

std::size_t Wire::pull(int from, std::byte* data, std::size_t bytes) {
  Ring& ring = this->ring(from, rank_);
  const std::uint64_t taken = ring.taken.load(std::memory_order_relaxed);
  const std::uint64_t there = ring.written.load(std::memory_order_acquire) - taken;
  const std::size_t count = std::min<std::size_t>(bytes, there);
  const std::size_t at = taken % kRing, first = std::min(count, kRing - at);
  std::memcpy(data, ring.bytes + at, first);
  std::memcpy(data + first, ring.bytes, count - first);
  ring.taken.store(taken + count, std::memory_order_release);
  return count;
}

}  // namespace fake_nccl
