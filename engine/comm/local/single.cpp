// SingleGroup: a group of one rank.
#include "engine/comm/local/single.h"

#include <cstring>

#include "engine/base/error.h"

namespace ds::comm {

void SingleGroup::check(const char* operation) const {
  if (!aborted_) return;
  throw Error(ErrorKind::comm, fmt::format("rank {} (of group {}): {}: the group was aborted",
                                           spec_.ranks.front(), spec_.name, operation));
}

void SingleGroup::all_to_all(SendPieces send, ReceivePieces receive, Deadline) {
  check("all_to_all");
  DS_ASSERT(send.size() == 1 && receive.size() == 1 && send[0].size() == receive[0].size());
  if (!send[0].empty() && receive[0].data() != send[0].data())
    std::memcpy(receive[0].data(), send[0].data(), send[0].size());
}

void SingleGroup::all_gather(ReceivePieces pieces, Deadline) {
  check("all_gather");
  DS_ASSERT(pieces.size() == 1);
}

void SingleGroup::broadcast(std::span<std::byte>, int root, Deadline) {
  check("broadcast");
  DS_ASSERT(root == 0);
}

void SingleGroup::send(std::span<const std::byte>, int, Deadline) {
  DS_ASSERT(false, "a group of one rank has no peers");
}
void SingleGroup::receive(std::span<std::byte>, int, Deadline) {
  DS_ASSERT(false, "a group of one rank has no peers");
}
void SingleGroup::barrier(Deadline) { check("barrier"); }

std::unique_ptr<Group> SingleCollectives::make_group(const GroupSpec& spec, Deadline) {
  DS_ASSERT(spec.ranks == std::vector<int>{0});
  return std::make_unique<SingleGroup>(spec);
}

}  // namespace ds::comm
