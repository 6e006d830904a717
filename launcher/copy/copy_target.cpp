#include "launcher/copy/copy_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/copy/copy_frames.h"

namespace ds::launcher::copy {

bool is_safe(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes || path.find('\0') != std::string_view::npos)
    return false;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, end - at);
    if (name.empty() || name == "." || name == "..") return false;
    at = end + 1;
  }
  return true;
}

std::string target_path(std::string_view path, const TargetSetting& setting) {
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view first =
      setting.first_name.empty() ? path.substr(0, end) : std::string_view(setting.first_name);
  return fmt::format("{}{}{}", first, setting.suffix, path.substr(end));
}

void CopyTarget::on(const CopyEntry& entry) {
  if (problem_) return;
  if (listed_ || entry.id != entries_.size()) return break_off("an entry out of order");
  if (!is_safe(entry.path))
    return break_off(fmt::format("the path '{}' leaves the folder", entry.path));
  entries_.push_back({.source = entry});
  ++open_entries_;
  Entry& known = entries_.back();
  switch (entry.kind) {
    case EntryKind::folder: {
      std::string problem = disk_.make_folder(path_of(known));
      if (!problem.empty()) return finish(known, std::move(problem));
      folders_.push_back(entry.id);
      return;
    }
    case EntryKind::link:
      return finish(known, disk_.make_link(path_of(known), entry.link));
    case EntryKind::file:
      return take_file(known);
  }
}

/// Decides which bytes of a file are needed: none, those after an interrupted copy, or all.
void CopyTarget::take_file(Entry& entry) {
  const std::string path = path_of(entry);
  Existing found;
  if (std::string problem = disk_.look(path, found); !problem.empty())
    return finish(entry, std::move(problem));
  if (found.kind == Existing::Kind::folder)
    return finish(entry, fmt::format("{}: is a folder there", path));
  if (found.kind == Existing::Kind::other)
    return finish(entry, fmt::format("{}: is not a regular file there", path));
  const bool same_size = found.kind == Existing::Kind::file && found.size == entry.source.size;
  if (same_size && setting_.quick && found.modified == entry.source.modified)
    return finish(entry, disk_.settle(path, entry.source), true);
  if (found.part_size <= entry.source.size) entry.part = found.part_size;
  if (same_size) return claim(entry, true, found.size);
  if (entry.part > 0) return claim(entry, false, entry.part);
  fetch(entry, 0);
}

/// Claims the file, or its interrupted copy, once it is hashed.
void CopyTarget::claim(Entry& entry, bool whole, std::uint64_t size) {
  entry.stage = Stage::hashing;
  entry.claims_whole = whole;
  entry.claimed = size;
  entry.got = 0;
  entry.hasher.emplace(setting_.seed);
  hashing_.push_back(entry.source.id);
}

bool CopyTarget::hash_some() {
  if (problem_ || hashing_.empty()) return false;
  Entry& entry = entries_[hashing_.front()];
  const std::uint64_t size = std::min(kHashAtOnce, entry.claimed - entry.got);
  if (!disk_.hash(path_of(entry), !entry.claims_whole, entry.got, size, *entry.hasher).empty()) {
    hashing_.pop_front();
    fetch(entry, 0);
    return !hashing_.empty();
  }
  entry.got += size;
  if (entry.got < entry.claimed) return true;
  hashing_.pop_front();
  entry.stage = Stage::claimed;
  send_(CopyClaim{entry.source.id, entry.claims_whole, entry.claimed, entry.hasher->digest()});
  return !hashing_.empty();
}

void CopyTarget::fetch(Entry& entry, std::uint64_t from) {
  entry.stage = Stage::fetching;
  entry.got = from;
  if (from == 0) entry.hasher.reset();  // made with the first bytes
  send_(CopyFetch{entry.source.id, from});
}

void CopyTarget::on(const CopyListed& /*listed*/) {
  if (problem_) return;
  listed_ = true;
  if (open_entries_ == folders_.size()) settle_folders();
}

void CopyTarget::on(const CopyVerdict& verdict) {
  if (problem_) return;
  Entry* entry = find(verdict.id);
  if (entry == nullptr || entry->stage != Stage::claimed || !entry->hasher)
    return break_off("an answer without a question");
  if (!verdict.equal && entry->claims_whole && entry->part > 0)
    return claim(*entry, false, entry->part);
  if (!verdict.equal) return fetch(*entry, 0);
  if (!entry->claims_whole) return fetch(*entry, entry->got);
  entry->digest = entry->hasher->digest();
  finish(*entry, disk_.settle(path_of(*entry), entry->source), true);
}

bool CopyTarget::open(Entry& entry) {
  if (written_) return true;
  if (std::string problem = disk_.open(path_of(entry), entry.got); !problem.empty()) {
    fail(entry, std::move(problem), false);
    return false;
  }
  if (!entry.hasher) entry.hasher.emplace(setting_.seed);
  written_ = entry.source.id;
  return true;
}

void CopyTarget::on(const CopyData& data) {
  if (problem_) return;
  Entry* entry = find(data.id);
  if (entry != nullptr && entry->stage == Stage::failed) return;  // the source does not know yet
  const bool fits = entry != nullptr && entry->stage == Stage::fetching &&
                    entry->source.kind == EntryKind::file && data.offset == entry->got &&
                    data.bytes.size() <= entry->source.size - entry->got &&
                    written_.value_or(data.id) == data.id;
  if (!fits) return break_off("bytes that were not asked for");
  if (!open(*entry)) return;
  if (std::string problem = disk_.write(data.bytes); !problem.empty())
    return fail(*entry, std::move(problem), true);
  entry->hasher->add(data.bytes);
  entry->got += data.bytes.size();
  received_ += data.bytes.size();
}

void CopyTarget::on(const CopyEnd& end) {
  if (problem_) return;
  Entry* entry = find(end.id);
  if (entry != nullptr && entry->stage == Stage::failed) return;
  if (entry == nullptr || entry->stage != Stage::fetching || written_.value_or(end.id) != end.id)
    return break_off("the end of a file that was not asked for");
  if (!end.problem.empty()) return fail(*entry, end.problem, true);
  if (entry->got != entry->source.size) return break_off("the end of a file that is not complete");
  if (!open(*entry)) return;
  entry->digest = entry->hasher->digest();
  if (entry->digest != end.digest)
    return fail(*entry,
                fmt::format("{}: the bytes that arrived have another digest than the source; copy "
                            "the file again",
                            path_of(*entry)),
                true);
  std::string problem = disk_.commit(entry->source);
  if (!problem.empty()) return fail(*entry, std::move(problem), true);
  written_.reset();
  finish(*entry, {});
}

void CopyTarget::fetch_again() {
  if (written_) send_(CopyFetch{*written_, entries_[*written_].got});
  for (const Entry& entry : entries_)
    if (entry.stage == Stage::fetching && written_ != entry.source.id)
      send_(CopyFetch{entry.source.id, entry.got});
}

void CopyTarget::fail(Entry& entry, std::string problem, bool remove) {
  if (written_ == entry.source.id) {
    disk_.leave(remove);
    written_.reset();
  }
  finish(entry, std::move(problem));
}

void CopyTarget::finish(Entry& entry, std::string problem, bool unchanged) {
  entry.stage = problem.empty() ? Stage::done : Stage::failed;
  entry.problem = problem;
  entry.hasher.reset();
  --open_entries_;
  send_(CopyResult{entry.source.id, unchanged && problem.empty(), std::move(problem)});
  if (listed_ && open_entries_ == folders_.size()) settle_folders();
}

/// Gives folders their modes and times, the deepest first: writing into a folder changes its time,
/// and its mode may forbid it.
void CopyTarget::settle_folders() {
  const std::vector<std::uint32_t> folders = std::exchange(folders_, {});
  for (auto id = folders.rbegin(); id != folders.rend(); ++id) {
    Entry& entry = entries_[*id];
    const std::string problem = disk_.settle(path_of(entry), entry.source);
    entry.stage = problem.empty() ? Stage::done : Stage::failed;
    --open_entries_;
    send_(CopyResult{entry.source.id, false, problem});
  }
}

std::optional<CopyTarget::Progress> CopyTarget::progress(std::uint32_t id) const {
  if (id >= entries_.size() || entries_[id].source.kind != EntryKind::file) return std::nullopt;
  const Entry& entry = entries_[id];
  Progress progress{.path = path_of(entry), .digest = entry.digest, .problem = entry.problem};
  using Known = Progress::Stage;
  progress.stage = entry.stage == Stage::done     ? Known::done
                   : entry.stage == Stage::failed ? Known::failed
                   : written_ == id               ? Known::receiving
                                                  : Known::waiting;
  progress.bytes = entry.stage == Stage::done ? entry.source.size : entry.got;
  return progress;
}

}  // namespace ds::launcher::copy
