#include "launcher/copy/send_role.h"

#include <fmt/format.h>

#include <utility>

#include "launcher/join/join_key.h"

namespace ds::launcher::copy {

SendRole::SendRole(RoleContext& context, const CopyTask& task, SourceList list, CopyTree tree,
                   std::function<std::string(int)> address_of)
    : CopyRole(context),
      source_(std::move(list), task.seed),
      tree_(std::move(tree)),
      address_of_(std::move(address_of)),
      key_(JoinKey::random().hex()),
      peers_(context.names.size()) {
  encode(list_, task);
  // A node asks for bytes once it knows its parent, which may come late; without a tree it is told
  // at once.
  if (!tree_.used()) encode(list_, CopyParent{});
  for (const CopyEntry& entry : source_.entries()) encode(list_, entry);
  encode(list_, CopyListed{});
}

void SendRole::pump(int node) {
  Peer& known = peer(node);
  NodeStream& stream = context_.stream(node);
  while (const std::size_t room = stream.room()) {
    if (known.listed < list_.size()) {
      const std::size_t count = std::min(room, list_.size() - known.listed);
      stream.put(std::span(list_).subspan(known.listed, count));
      known.listed += count;
    } else if (!known.claims.empty() && judge(node, known.claims.front())) {
      known.claims.pop_front();
    } else if (!known.fetches.empty() && send_some(node, known.fetches.front())) {
    } else {
      break;
    }
    context_.flush(node);
  }
  context_.flush(node);
}

/// Answers a claim; returns false if the digest of the source takes more time.
bool SendRole::judge(int node, const CopyClaim& claim) {
  const bool possible = claim.size <= source_.entries()[claim.id].size;
  std::optional<Digest> digest;
  if (possible) digest = source_.digest(claim.id, claim.size);
  if (possible && !digest) {
    context_.work_later();
    return false;
  }
  const bool equal = possible && source_.problem(claim.id).empty() && *digest == claim.digest;
  context_.stream(node).put(CopyVerdict{claim.id, equal});
  return true;
}

/// Sends the next bytes of a file, or its end. Returns false if the digest takes more time.
bool SendRole::send_some(int node, CopyFetch& fetch) {
  const std::uint32_t id = fetch.id;
  const std::span<const std::byte> bytes = source_.piece(id, fetch.from);
  if (!bytes.empty()) {
    context_.stream(node).put(CopyData{id, fetch.from, bytes});
    context_.outcomes[static_cast<std::size_t>(node)].bytes += bytes.size();
    fetch.from += bytes.size();
    return true;
  }
  const std::optional<Digest> digest = source_.end(id);
  if (!digest) {
    context_.work_later();
    return false;
  }
  if (source_.grown(id) && source_.problem(id).empty() && grown_.insert(id).second)
    context_.grown.add(source_.path(id), source_.entries()[id].size);
  context_.stream(node).put(CopyEnd{id, *digest, source_.problem(id), source_.grown(id)});
  peer(node).fetches.pop_front();
  return true;
}

void SendRole::work() {
  for (int node = 0; node < static_cast<int>(peers_.size()); ++node)
    if (!peer(node).claims.empty() || !peer(node).fetches.empty()) pump(node);
}

void SendRole::on_message(int node, const CopyMessage& message) {
  std::visit(
      [&](const auto& known) {
        if constexpr (requires { this->on(node, known); }) on(node, known);
      },
      message);
}

void SendRole::on(int node, const CopyHello& hello) {
  if (hello.version != copy_version())
    return context_.finish(node, "another version of dslaunch is there; --push sends this one");
  if (!tree_.used()) return;
  context_.stream(node).put(CopyServe{address_of_(node), key_});
  pump(node);
}

/// The node listens at a port, or cannot (0).
void SendRole::on(int node, const CopyServes& serves) {
  if (ports_.contains(node)) return;
  const std::string address = address_of_(node);
  const std::optional<int> parent = tree_.parent_for_new_node();
  ports_[node] = serves.port;
  if (serves.port != 0 && !address.empty()) tree_.add(node);
  CopyParent message;
  if (parent) message = {address_of_(*parent), ports_[*parent]};
  context_.stream(node).put(message);
  pump(node);
}

void SendRole::on(int node, const CopyOrphan& orphan) {
  if (std::exchange(peer(node).orphaned, true)) return;
  context_.say(fmt::format("{}: cannot get files from another node: {}; the root sends them",
                           context_.names[static_cast<std::size_t>(node)],
                           printable(orphan.problem)));
}

/// Returns whether the node may ask once more. Each file is claimed twice at most, and fetched from
/// the root twice.
bool SendRole::may_ask(int node, std::uint32_t id) {
  const std::size_t most = 4 * source_.entries().size();
  if (is_known(id) && ++peer(node).asked <= most) return true;
  context_.finish(node, is_known(id) ? "invalid data: too many requests"
                                     : "invalid data: an unknown file");
  return false;
}

void SendRole::on(int node, const CopyClaim& claim) {
  if (!may_ask(node, claim.id)) return;
  peer(node).claims.push_back(claim);
  pump(node);
}

void SendRole::on(int node, const CopyFetch& fetch) {
  if (!may_ask(node, fetch.id)) return;
  peer(node).fetches.push_back(fetch);
  pump(node);
}

void SendRole::on(int node, const CopyResult& result) {
  if (!is_known(result.id)) return context_.finish(node, "invalid data: an unknown file");
  Peer& known = peer(node);
  context_.count(node, result, source_.entries()[result.id].kind != EntryKind::folder);
  if (++known.results < source_.entries().size()) return;
  context_.outcomes[static_cast<std::size_t>(node)].finished = true;
  if (!tree_.used()) return context_.finish(node);
  finish_all_done();
}

/// Ends the programs of all nodes at once: until then each may have others to send to.
void SendRole::finish_all_done() {
  for (std::size_t i = 0; i < peers_.size(); ++i)
    if (!peers_[i].left && !context_.outcomes[i].finished) return;
  for (int node = 0; node < static_cast<int>(peers_.size()); ++node)
    if (!peer(node).left) context_.finish(node);
}

void SendRole::left(int node) {
  if (peer(node).left) return;
  peer(node) = Peer();
  peer(node).left = true;
  tree_.remove(node);
  if (tree_.used()) finish_all_done();
}

}  // namespace ds::launcher::copy
