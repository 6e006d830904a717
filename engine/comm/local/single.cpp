// A group of one.
#include "engine/comm/local/single.h"

#include <cstring>

#include "engine/base/error.h"

namespace ds::comm {

void SingleGroup::check(const char* operation) const {
  if (!aborted_) return;
  throw Error(ErrorKind::comm, fmt::format("rank {} (of group {}): {}: the group was aborted",
                                           spec_.ranks.front(), spec_.name, operation));
}

void SingleGroup::all_to_all(std::span<const std::byte> send,
                             std::span<const std::size_t> send_bytes, std::span<std::byte> receive,
                             std::span<const std::size_t> receive_bytes, Deadline) {
  check("all_to_all");
  DS_ASSERT(send_bytes.size() == 1 && receive_bytes.size() == 1 &&
            send_bytes[0] == receive_bytes[0]);
  DS_ASSERT(send.size() == send_bytes[0] && receive.size() == receive_bytes[0]);
  if (!send.empty() && receive.data() != send.data())
    std::memcpy(receive.data(), send.data(), send.size());
}

void SingleGroup::all_gather(std::span<std::byte> all, std::span<const std::size_t> bytes,
                             Deadline) {
  check("all_gather");
  DS_ASSERT(bytes.size() == 1 && bytes[0] == all.size());
}

void SingleGroup::broadcast(std::span<std::byte>, int root, Deadline) {
  check("broadcast");
  DS_ASSERT(root == 0);
}

void SingleGroup::send(std::span<const std::byte>, int, Deadline) {
  DS_ASSERT(false, "nobody else is here");
}
void SingleGroup::receive(std::span<std::byte>, int, Deadline) {
  DS_ASSERT(false, "nobody else is here");
}
void SingleGroup::barrier(Deadline) { check("barrier"); }

std::unique_ptr<Group> SingleCollectives::make_group(const GroupSpec& spec, Deadline) {
  DS_ASSERT(spec.ranks == std::vector<int>{0});
  return std::make_unique<SingleGroup>(spec);
}

}  // namespace ds::comm
