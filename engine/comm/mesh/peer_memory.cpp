// PeerMemory: process_vm_readv, and the word that proves what was read.
#include "engine/comm/mesh/peer_memory.h"

#include <openssl/rand.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "engine/base/boot_id.h"
#include "engine/base/error.h"

namespace ds::comm {
namespace {

std::uint64_t pid_namespace() {
  struct stat facts {};
  return ::stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

std::uint64_t random_word() {
  std::uint64_t word = 0;
  while (word == 0) {
    if (RAND_bytes(reinterpret_cast<unsigned char*>(&word), sizeof word) != 1)
      throw Error(ErrorKind::system, "the system's random number generator failed");
  }
  return word;
}

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

OwnMemory::OwnMemory(bool readable) : word_(random_word()) {
  card_.word = word_;
  if (!readable) return;
  card_.machine = boot_id();
  card_.pid_namespace = pid_namespace();
  card_.process = static_cast<std::uint64_t>(::getpid());
  card_.address = reinterpret_cast<std::uintptr_t>(&word_);
  // Yama's ptrace_scope 1, the default of Ubuntu, allows reads only by a process's ancestors, and
  // ranks are siblings. This gives the rights of ptrace_scope 0 to processes of the same user.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

PeerMemory::PeerMemory(const MemoryCard& own, const MemoryCard& peer) : peer_(peer) {
  if (own.machine != peer.machine || own.machine.empty()) return;
  if (own.pid_namespace != peer.pid_namespace) {
    obstacle_ = "they are in different PID namespaces";
    return;
  }
  std::uint64_t word = 0;
  const bool read = read_with_word(peer.address, {}, word);
  readable_ = read && word == peer.word;
  // Otherwise the peer has ended already.
  if (!read && (errno == EPERM || errno == ENOSYS))
    obstacle_ = fmt::format("process_vm_readv: {}", std::generic_category().message(errno));
}

PeerMemory::Result PeerMemory::read(std::uint64_t address, std::span<std::byte> into) const {
  std::uint64_t word = 0;
  if (!read_with_word(address, into, word)) return Result::impossible;
  return word == peer_.word ? Result::done : Result::revoked;
}

// Reads the word last: if it is right, the bytes were.
bool PeerMemory::read_with_word(std::uint64_t address, std::span<std::byte> into,
                                std::uint64_t& word) const {
  const std::array<iovec, 2> local{{{into.data(), into.size()}, {&word, sizeof word}}};
  const std::array<iovec, 2> remote{
      {{pointer(address), into.size()}, {pointer(peer_.address), sizeof word}}};
  return ::process_vm_readv(static_cast<pid_t>(peer_.process), local.data(), 2, remote.data(), 2,
                            0) == static_cast<ssize_t>(into.size() + sizeof word);
}

}  // namespace ds::comm
