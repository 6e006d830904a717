#include "launcher/exec/input_share.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "engine/base/error.h"

namespace ds::launcher::exec {
namespace {

constexpr const char* kHint =
    "nodes that wait for their turn (-f) get what came before: TMPDIR names another folder";

std::string temporary_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder == nullptr || *folder == '\0' ? "/tmp" : folder;
}

}  // namespace

std::optional<InputShare::Piece> InputShare::next(int index) {
  Node& node = this->node(index);
  if (node.stage != Stage::running || node.told_end) return std::nullopt;
  const std::uint64_t to = std::min(end_, node.taken + Stdin::kWindow);
  Piece piece{.from = node.sent, .count = to - node.sent, .last = ended_ && to == end_};
  if (piece.count == 0 && !piece.last) return std::nullopt;
  node.sent = to;
  node.told_end = piece.last;
  return piece;
}

std::uint64_t InputShare::room() const {
  if (ended_) return 0;
  std::uint64_t slowest = end_;
  bool wanted = false;
  for (const Node& node : nodes_) {
    if (node.stage == Stage::left) continue;
    wanted = true;
    if (node.stage == Stage::running || waiting_count_) slowest = std::min(slowest, node.taken);
  }
  return wanted ? Stdin::kWindow - std::min(end_ - slowest, Stdin::kWindow) : 0;
}

std::uint64_t InputShare::needed_from() const {
  std::uint64_t from = end_;
  for (const Node& node : nodes_)
    if (node.stage != Stage::left) from = std::min(from, node.sent);
  return from;
}

void InputStore::add(std::span<const std::byte> bytes) {
  if (!file_ && bytes_.size() + bytes.size() > kInMemory) move_to_disk();
  if (file_) return write(bytes);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void InputStore::move_to_disk() {
  const std::string folder = temporary_folder();
  std::string name = folder + "/dslaunch-stdin-XXXXXX";
  file_.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (!file_) throw_errno("cannot keep standard input in " + folder, errno, kHint);
  ::unlink(name.c_str());
  write(bytes_);
  bytes_ = {};
}

void InputStore::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote =
        ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(file_size_));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0)
      throw_errno("cannot keep standard input in " + temporary_folder(), errno, kHint);
    file_size_ += static_cast<std::uint64_t>(wrote);
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
}

void InputStore::forget(std::uint64_t position) {
  if (file_ || position <= begin_) return;
  const auto count = std::min<std::uint64_t>(position - begin_, bytes_.size());
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(count));
  begin_ += count;
}

std::vector<std::byte> InputStore::get(std::uint64_t from, std::uint64_t count) const {
  DS_ASSERT(from >= begin_);
  const auto offset = static_cast<std::ptrdiff_t>(from - begin_);
  if (!file_)
    return {bytes_.begin() + offset, bytes_.begin() + offset + static_cast<std::ptrdiff_t>(count)};
  std::vector<std::byte> bytes(count);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(file_.get(), bytes.data() + done, bytes.size() - done,
                                offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw_errno("cannot read back standard input", got == 0 ? EIO : errno);
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace ds::launcher::exec
