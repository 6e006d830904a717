// Receiving end of a copy: turns messages of the source into actions on a disk and answers. Pure
// but for the disk, which is an interface.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/copy/hasher.h"
#include "launcher/wire/copy_messages.h"

namespace ds::launcher::copy {

/// What lies at the place of a file.
struct Existing {
  enum class Kind { none, file, folder, other };
  Kind kind = Kind::none;
  std::uint64_t size = 0;
  std::int64_t modified = 0;
  std::uint64_t part_size = 0;  // of an interrupted copy to this place
};

/// The files below one folder. Functions return what went wrong, in one line; empty if nothing did.
/// One file is written at a time, under a temporary name beside its place.
class TargetDisk {
 public:
  virtual ~TargetDisk() = default;
  virtual std::string look(const std::string& path, Existing& found) = 0;
  virtual std::string make_folder(const std::string& path) = 0;
  virtual std::string make_link(const std::string& path, const std::string& target) = 0;
  /// Adds bytes [from, from + size) of the file, or of its interrupted copy, to a digest.
  virtual std::string hash(const std::string& path, bool part, std::uint64_t from,
                           std::uint64_t size, Hasher& hasher) = 0;
  /// Opens the temporary file and keeps its first `from` bytes. Fails if the file changed since
  /// hash() read the first of them.
  virtual std::string open(const std::string& path, std::uint64_t from) = 0;
  virtual std::string write(std::span<const std::byte> bytes) = 0;
  /// Gives the temporary file mode, time and final name.
  virtual std::string commit(const CopyEntry& entry) = 0;
  /// Closes the temporary file; `remove`: its bytes are of no use for a later copy.
  virtual void leave(bool remove) = 0;
  /// Gives a folder, or an unchanged file, its mode and time.
  virtual std::string settle(const std::string& path, const CopyEntry& entry) = 0;
};

struct TargetSetting {
  std::uint64_t seed = 0;
  bool keep = false;
  bool quick = false;
  std::string first_name{};  // replaces the first name of each path; empty: keeps it
  std::string suffix{};      // follows the first name
};

/// Returns whether a path of a source stays below the target's folder: relative, without "..".
bool is_safe(std::string_view path);
/// Returns the path of an entry at the target.
std::string target_path(std::string_view path, const TargetSetting& setting);

/// Promise: each entry gets one CopyResult; a file's final name only appears with all of its bytes.
/// Threads: one at a time.   Errors: problem(), after a message that no source sends.
class CopyTarget {
 public:
  using Send = std::function<void(const CopyMessage&)>;
  CopyTarget(TargetDisk& disk, TargetSetting setting, Send send)
      : disk_(disk), setting_(std::move(setting)), send_(std::move(send)) {}

  void on(const CopyEntry& entry);
  void on(const CopyListed& listed);
  void on(const CopyVerdict& verdict);
  void on(const CopyData& data);
  void on(const CopyEnd& end);
  /// Asks again for the rest of all files: the source that was asked first is gone. The file that
  /// is open comes first, as only one is written at a time.
  void fetch_again();
  /// Hashes the next bytes of files that are there already, at most kHashAtOnce. Returns whether
  /// there is more to hash: then call it again, soon.
  bool hash_some();
  [[nodiscard]] bool hashes() const { return !hashing_.empty(); }
  static constexpr std::uint64_t kHashAtOnce = std::uint64_t{4} << 20;

  /// Returns whether every entry has its result.
  [[nodiscard]] bool finished() const { return listed_ && open_entries_ == 0; }
  [[nodiscard]] bool listed() const { return listed_; }
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }
  [[nodiscard]] std::uint64_t received() const { return received_; }

  /// What a node that passes a file on needs to know about it.
  struct Progress {
    enum class Stage { waiting, receiving, done, failed };
    Stage stage = Stage::waiting;
    std::uint64_t bytes = 0;
    std::string path{};
    Digest digest{};
    std::string problem{};
  };
  [[nodiscard]] std::optional<Progress> progress(std::uint32_t id) const;
  /// Returns the path of an entry that the source has sent, as it was sent.
  [[nodiscard]] const std::string& source_path(std::uint32_t id) const {
    return entries_[id].source.path;
  }

 private:
  enum class Stage { hashing, claimed, fetching, done, failed };
  struct Entry {
    CopyEntry source;
    Stage stage = Stage::claimed;
    std::uint64_t got = 0;      // bytes, also of the digest
    std::uint64_t claimed = 0;  // bytes that are hashed and then claimed
    std::uint64_t part = 0;     // bytes of an interrupted copy
    bool claims_whole = false;
    std::optional<Hasher> hasher{};
    Digest digest{};
    std::string problem{};
  };
  void take_file(Entry& entry);
  void claim(Entry& entry, bool whole, std::uint64_t size);
  void fetch(Entry& entry, std::uint64_t from);
  void finish(Entry& entry, std::string problem, bool unchanged = false);
  void fail(Entry& entry, std::string problem, bool remove);
  bool open(Entry& entry);
  void settle_folders();
  void break_off(std::string problem) {
    if (!problem_) problem_ = "invalid data: " + std::move(problem);
  }
  Entry* find(std::uint32_t id) { return id < entries_.size() ? &entries_[id] : nullptr; }
  [[nodiscard]] std::string path_of(const Entry& entry) const {
    return target_path(entry.source.path, setting_);
  }

  TargetDisk& disk_;
  TargetSetting setting_;
  Send send_;
  std::vector<Entry> entries_;
  std::size_t open_entries_ = 0;  // without a result
  std::vector<std::uint32_t> folders_;
  std::deque<std::uint32_t> hashing_;
  std::optional<std::uint32_t> written_;  // the file that is open
  std::uint64_t received_ = 0;
  bool listed_ = false;
  std::optional<std::string> problem_;
};

}  // namespace ds::launcher::copy
