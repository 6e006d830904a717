#include "launcher/copy/copy_node.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "launcher/copy/copy_frames.h"
#include "launcher/copy/copy_source.h"
#include "launcher/copy/relay.h"
#include "launcher/copy/source_paths.h"
#include "launcher/copy/target_files.h"

namespace ds::launcher::copy {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{256} << 10;
constexpr std::size_t kFlushAt = std::size_t{64} << 10;

[[noreturn]] void fail(const std::string& text) { throw Error(ErrorKind::system, text); }

/// Where the files go: an open folder, its name in messages, and the name of the copy in it.
struct Base {
  UniqueFd folder{};
  std::string shown{};
  std::string first_name{};
};

/// Decides as cp does: below an existing folder, or under a new name.
/// Errors:  Error{system} if the folder does not exist.
Base open_base(const std::string& path, bool into_folder) {
  struct stat known {};
  const bool exists = ::stat(path.c_str(), &known) == 0;
  const bool is_folder = exists && S_ISDIR(known.st_mode);
  Base base;
  base.shown = path;
  if (into_folder && exists && !is_folder)
    fail(fmt::format("cannot copy into {}: it is not a folder", path));
  if (into_folder && !exists && ::mkdir(path.c_str(), 0777) != 0)
    fail(fmt::format("cannot make the folder {}: {}", path, std::strerror(errno)));
  if (!into_folder && !is_folder) {
    const std::filesystem::path whole(path);
    base.shown = whole.parent_path().string();
    base.first_name = whole.filename().string();
  }
  const std::string folder = base.shown.empty() ? "." : base.shown;
  base.folder.reset(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base.folder)
    fail(fmt::format("cannot open the folder {}: {}", folder, std::strerror(errno)));
  if (!base.shown.empty() && !base.shown.ends_with('/')) base.shown += '/';
  return base;
}

/// Threads: the main one reads standard input. Those of the relay use the target as well, under the
/// lock.
class CopyNode : public RelayFiles {
 public:
  /// Does not return when standard input ends: threads of the relay may still use this object.
  void run() {
    send(CopyHello{copy_version()});
    Bytes buffer(kReadAtOnce);
    while (true) {
      flush_under_lock();
      const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) ::_exit(0);
      decoder_.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
      take_messages();
      while (hash_some()) flush_under_lock();
    }
  }

  std::optional<CopyTarget::Progress> wait(std::uint32_t id, std::uint64_t from,
                                           std::chrono::milliseconds limit) override {
    std::unique_lock guard(lock_);
    using Stage = CopyTarget::Progress::Stage;
    std::optional<CopyTarget::Progress> known;
    changed_.wait_for(guard, limit, [&] {
      known = target_ ? target_->progress(id) : std::nullopt;
      return known && (known->stage == Stage::done || known->stage == Stage::failed ||
                       (known->stage == Stage::receiving && known->bytes > from));
    });
    return known;
  }
  UniqueFd open(const std::string& path, bool part) override {
    const std::lock_guard guard(lock_);
    return files_->open_to_read(path, part);
  }
  /// Reads the file at the first call, for all children; meanwhile this node goes on receiving.
  Digest digest(const CopyTarget::Progress& file) override {
    const std::lock_guard one_reads(digests_lock_);
    if (const auto known = digests_.find(file.path); known != digests_.end()) return known->second;
    UniqueFd opened;
    std::uint64_t seed = 0;
    {
      const std::lock_guard guard(lock_);
      opened = files_->open_to_read(file.path, false);
      seed = task_.seed;
    }
    Hasher hasher(seed);
    if (hash_bytes(opened.get(), file.bytes, hasher) != 0) return hasher.digest();
    return digests_[file.path] = hasher.digest();
  }

 private:
  void take_messages() {
    const std::lock_guard guard(lock_);
    while (auto message = decoder_.next()) handle(*message);
    if (decoder_.error()) fail(*decoder_.error());
    check_target();
    changed_.notify_all();
  }
  bool hash_some() {
    const std::lock_guard guard(lock_);
    return target_ && target_->hash_some();
  }
  void handle(const CopyMessage& message) {
    std::visit(
        [this](const auto& known) {
          if constexpr (requires { on(known); })
            on(known);
          else if constexpr (requires { target_->on(known); })
            target_ ? target_->on(known) : fail("invalid data: a message before the task");
        },
        message);
  }
  void on(const CopyTask& task) {
    task_ = task;
    if (task.gather) return list();
    if (task.paths.size() != 1) fail("invalid data: a task without a target");
    Base base = open_base(task.paths.front(), task.into_folder);
    files_ = std::make_unique<TargetFiles>(std::move(base.folder), base.shown, task.keep);
    target_ = std::make_unique<CopyTarget>(*files_,
                                           TargetSetting{.seed = task.seed,
                                                         .keep = task.keep,
                                                         .quick = task.quick,
                                                         .first_name = base.first_name},
                                           [this](const CopyMessage& message) { answer(message); });
  }
  /// Sends what the target has to say: requests to the parent, once it is known, the rest to the
  /// root.
  void answer(const CopyMessage& message) {
    if (!std::holds_alternative<CopyFetch>(message)) return send(message);
    if (!knows_parent_)
      waiting_.push_back(std::get<CopyFetch>(message));
    else if (parent_)
      parent_->send(message);
    else
      send(message);
  }
  void on(const CopyServe& serve) {
    key_ = JoinKey::from_hex(serve.key).value_or(JoinKey::random());
    send(CopyServes{serve_children(serve.address, key_, *this)});
  }
  void on(const CopyParent& parent) {
    if (knows_parent_) fail("invalid data: a second parent");
    knows_parent_ = true;
    if (!parent.address.empty())
      parent_ = std::make_unique<ParentLink>(
          parent.address, parent.port, key_,
          ParentLink::Events{.on_message = [this](const auto& m) { take_from_parent(m); },
                             .on_idle = [this] { flush_under_lock(); },
                             .on_lost = [this](const std::string& why) { lose_parent(why); }});
    for (const CopyFetch& fetch : std::exchange(waiting_, {})) answer(fetch);
  }
  void take_from_parent(const CopyMessage& message) {
    const std::lock_guard guard(lock_);
    if (const auto* data = std::get_if<CopyData>(&message)) target_->on(*data);
    if (const auto* end = std::get_if<CopyEnd>(&message)) target_->on(*end);
    check_target();  // ends this program, as an error on the main thread does
    changed_.notify_all();
  }
  /// Gets everything that is missing from the root.
  void lose_parent(const std::string& why) {
    const std::lock_guard guard(lock_);
    parent_.reset();
    if (target_->finished()) return;
    send(CopyOrphan{why});
    target_->fetch_again();
    flush();
  }
  void check_target() {
    if (target_ && target_->problem()) fail(*target_->problem());
  }
  void list() {
    list_ = list_sources(expand_patterns(task_.paths), task_.recursive);
    for (const CopyEntry& entry : list_.entries) send(entry);
    send(CopyListed{list_.problem.empty() ? list_.skipped : list_.problem});
  }
  /// The root has a file of the same size, or a part of it.
  void on(const CopyClaim& claim) {
    const CopyEntry& entry = listed(claim.id);
    Hasher hasher(task_.seed);
    SourceFile file(entry, list_.places[claim.id]);
    file.hash(0, std::min(claim.size, entry.size), hasher);
    const bool equal = file.problem().empty() && hasher.digest() == claim.digest;
    send(CopyVerdict{claim.id, equal});
  }
  void on(const CopyFetch& fetch) {
    const CopyEntry& entry = listed(fetch.id);
    serve_file(entry, list_.places[fetch.id], fetch, task_.seed,
               [this](const CopyMessage& message) { send(message); });
  }
  const CopyEntry& listed(std::uint32_t id) const {
    if (id >= list_.entries.size()) fail("invalid data: an unknown file");
    return list_.entries[id];
  }

  void send(const CopyMessage& message) {
    encode(out_, message);
    if (out_.size() >= kFlushAt) flush();
  }
  void flush_under_lock() {
    const std::lock_guard guard(lock_);
    flush();
  }
  void flush() {
    for (std::size_t at = 0; at < out_.size();) {
      const ssize_t wrote = ::write(STDOUT_FILENO, out_.data() + at, out_.size() - at);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) fail("the root does not read any more");
      at += static_cast<std::size_t>(wrote);
    }
    out_.clear();
  }

  std::mutex digests_lock_;
  std::map<std::string, Digest> digests_;  // of files that were equal already, by path

  std::mutex lock_;  // for all below, but the decoder
  std::condition_variable changed_;
  CopyDecoder decoder_;
  CopyTask task_;
  Bytes out_;
  SourceList list_;                     // what this node sends
  std::unique_ptr<TargetFiles> files_;  // what this node receives
  std::unique_ptr<CopyTarget> target_;
  JoinKey key_;
  bool knows_parent_ = false;
  std::vector<CopyFetch> waiting_;      // until the parent is known
  std::unique_ptr<ParentLink> parent_;  // null: the root
};

}  // namespace

int run_copy_node() {
  std::signal(SIGPIPE, SIG_IGN);
  CopyNode node;
  const auto say = [](const std::string& problem) {
    const std::string line = problem + "\n";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  };
  try {
    node.run();
  } catch (const Error& problem) {
    say(problem.for_people());
  } catch (const std::exception& problem) {  // such as std::system_error of a thread
    say(problem.what());
  }
  ::_exit(1);  // threads of the relay may still use the node
}

}  // namespace ds::launcher::copy
