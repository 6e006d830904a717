#include "launcher/copy/gather_role.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"

namespace ds::launcher::copy {

GatherRole::GatherRole(RoleContext& context, CopyTask task, const std::string& folder)
    : CopyRole(context), task_(std::move(task)), asked_(context.names.size()) {
  ::mkdir(folder.c_str(), 0777);
  UniqueFd base(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base)
    throw Error(ErrorKind::config,
                fmt::format("cannot open the folder {}: {}", folder, std::strerror(errno)));
  const std::string shown = folder.ends_with('/') ? folder : folder + "/";
  for (std::size_t i = 0; i < context.names.size(); ++i) {
    Peer& peer = peers_.emplace_back();
    UniqueFd own(::fcntl(base.get(), F_DUPFD_CLOEXEC, 3));
    peer.files = std::make_unique<TargetFiles>(std::move(own), shown, task_.keep);
    std::string suffix = "." + context.names[i];
    std::ranges::replace(suffix, '/', '_');
    const TargetSetting setting{
        .seed = task_.seed, .keep = task_.keep, .quick = task_.quick, .suffix = suffix};
    const int node = static_cast<int>(i);
    peer.target = std::make_unique<CopyTarget>(
        *peer.files, setting, [this, node](const CopyMessage& message) { answer(node, message); });
  }
}

void GatherRole::pump(int node) {
  NodeStream& stream = context_.stream(node);
  if (!asked_[static_cast<std::size_t>(node)]) stream.put(task_);
  asked_[static_cast<std::size_t>(node)] = true;
  context_.flush(node);
}

void GatherRole::answer(int node, const CopyMessage& message) {
  const auto* result = std::get_if<CopyResult>(&message);
  if (result == nullptr) return context_.stream(node).put(message);
  const Peer& peer = peers_[static_cast<std::size_t>(node)];
  context_.count(node, *result, peer.is_file[result->id]);
}

void GatherRole::on_message(int node, const CopyMessage& message) {
  Peer& peer = peers_[static_cast<std::size_t>(node)];
  NodeOutcome& outcome = context_.outcomes[static_cast<std::size_t>(node)];
  CopyTarget& target = *peer.target;
  if (target.problem() || outcome.finished) return;
  if (const auto* hello = std::get_if<CopyHello>(&message);
      hello != nullptr && hello->version != copy_version())
    return context_.finish(node, "another version of dslaunch is there; --push sends this one");
  if (const auto* entry = std::get_if<CopyEntry>(&message))
    peer.is_file.push_back(entry->kind != EntryKind::folder);
  if (const auto* listed = std::get_if<CopyListed>(&message);
      listed != nullptr && outcome.problem.empty())
    outcome.problem = listed->problem;
  std::visit(
      [&](const auto& known) {
        if constexpr (requires { target.on(known); }) target.on(known);
      },
      message);
  outcome.bytes = target.received();
  if (target.problem()) return context_.finish(node, *target.problem());
  outcome.finished = target.finished();
  if (const auto* end = std::get_if<CopyEnd>(&message); end != nullptr && end->grown) {
    const auto file = target.progress(end->id);
    if (file && file->stage == CopyTarget::Progress::Stage::done)
      outcome.grown.add(target.source_path(end->id));
  }
  if (outcome.finished) return context_.finish(node);
  if (target.hashes() && !std::exchange(peer.hashes, true)) {
    hashing_.push_back(node);
    context_.work_later();
  }
  context_.flush(node);
}

/// Hashes a few megabytes for one node, so that agents hear from the launcher meanwhile.
void GatherRole::work() {
  if (hashing_.empty()) return;
  const int node = hashing_.front();
  hashing_.pop_front();
  Peer& peer = peers_[static_cast<std::size_t>(node)];
  peer.hashes = !peer.left && peer.target->hash_some();
  if (peer.hashes) hashing_.push_back(node);
  if (!hashing_.empty()) context_.work_later();
  context_.flush(node);
}

void GatherRole::left(int node) { peers_[static_cast<std::size_t>(node)].left = true; }

}  // namespace ds::launcher::copy
