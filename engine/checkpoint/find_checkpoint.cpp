// Orders candidates by their names and takes the first one whose manifest verifies.
#include "engine/checkpoint/find_checkpoint.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/latest_name.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/checkpoint/near_checkpoints.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKey = "checkpoint.resume";

/// Returns whether the name marks a half-written or half-removed folder, whatever its content.
bool never_taken(const fs::path& folder) {
  const auto name = parse_save_name(folder.filename().string());
  return name && (name->kind == SaveKind::unfinished || name->kind == SaveKind::removed);
}

/// Requires that checkpoint.dir is a readable folder if it exists.
void require_readable(const std::string& dir) {
  const UniqueFd folder(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno != ENOENT) throw folder_error(dir, errno);
}

/// Returns the folders that the user's path names, newest first; empty if it names no checkpoint.
std::vector<std::string> folders_at(const std::string& path) {
  std::error_code failed;
  fs::path place = fs::weakly_canonical(path, failed);
  if (failed) return {};
  if (place.filename() == kManifestName) place = place.parent_path();
  if (place.filename() == kLatestName && fs::is_regular_file(place, failed)) {
    const std::string name = latest_name(place.parent_path());
    return name.empty() ? std::vector<std::string>{}
                        : std::vector{place.replace_filename(name).string()};
  }
  if (!fs::is_directory(place, failed) || never_taken(place)) return {};
  if (is_there(place / kManifestName)) return {place};
  return checkpoints_in(place);
}

std::vector<ResumePlace> places_of(std::vector<std::string> folders, const std::string& load,
                                   const std::optional<Origin>& only_if) {
  std::vector<ResumePlace> places;
  for (std::string& folder : folders) places.push_back({std::move(folder), load, only_if});
  return places;
}

/// Returns the step of a place found by checkpoints_in().
std::int64_t step_of_place(const ResumePlace& place) {
  return parse_save_name(fs::path(place.folder).filename().string())->step;
}

/// Returns whether the place may be used. A place with an origin must belong to a run that began at
/// that origin. Pure.
bool counts(const ResumePlace& place, const Manifest& manifest) {
  return !place.only_if || *place.only_if == manifest.origin;
}

}  // namespace

std::vector<std::string> checkpoints_in(const std::string& folder) {
  std::vector<std::pair<SaveName, std::string>> found;
  for (const std::string& name : names_in(folder)) {
    const auto parsed = parse_save_name(name);
    if (!parsed) continue;
    if (parsed->kind != SaveKind::complete && parsed->kind != SaveKind::replaced) continue;
    found.emplace_back(*parsed, name);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    if (a.first.step != b.first.step) return a.first.step > b.first.step;
    return a.first.kind < b.first.kind;
  });
  std::vector<std::string> folders;
  for (const auto& [save, name] : found) folders.push_back(fs::path(folder) / name);
  return folders;
}

std::string origin_path(const std::string& path) {
  std::error_code failed;
  fs::path place = fs::weakly_canonical(fs::absolute(path, failed), failed);
  if (failed) return path;
  if (!place.has_filename()) place = place.parent_path();
  if (place.filename() == kManifestName) place = place.parent_path();
  return place;
}

ResumeSearch::ResumeSearch(ResumeRequest request) : request_(std::move(request)) {
  if (request_.resume == "never") {
    if (request_.job.empty()) return;
    origin_ = Origin{"new weights, job " + request_.job, "all"};
    if (request_.is_restart && !request_.dir.empty())
      places_ = places_of(checkpoints_in(request_.dir), "all", origin_);
    return;
  }
  const bool by_path = request_.resume != "auto";
  if (by_path) origin_ = Origin{origin_path(request_.resume), request_.load};
  if (!request_.dir.empty()) {
    require_readable(request_.dir);
    places_ = places_of(checkpoints_in(request_.dir), "all", origin_);
  }
  newest_ = places_.empty() ? -1 : step_of_place(places_.front());
  if (!by_path) return;
  std::vector<ResumePlace> there = places_of(folders_at(request_.resume), request_.load, {});
  path_has_some_ = !there.empty();
  places_.insert(places_.end(), there.begin(), there.end());
}

Error ResumeSearch::none_left() const {
  if (origin_ && !path_has_some_) return no_checkpoint_error(kKey, request_.resume);
  const std::string more = broken_ > 1 ? fmt::format(" (and {} more)", broken_ - 1) : "";
  return {ErrorKind::config,
          fmt::format("no checkpoint of {} can be used: {}{}",
                      origin_ ? request_.resume : request_.dir, why_first_, more),
          origin_
              ? near_hint(request_.resume)
              : "checkpoint.resume = \"never\" starts at step 0 and sets aside the checkpoints in "
                "checkpoint.dir"};
}

std::string ResumeSearch::went_further(const std::string& folder) const {
  if (request_.resume == "never")
    return fmt::format("resuming from {}: this job started at step 0 before it was restarted",
                       folder);
  return fmt::format(
      "resuming from {}, not from {}: this run began at the latter and has got further (with "
      "another "
      "checkpoint.dir it begins there again)",
      folder, request_.resume);
}

Resumed ResumeSearch::next(const std::string& why_not) {
  Resumed found{nullptr, "all", origin_.value_or(Origin{}), {}};
  const auto skip = [&](const std::string& why) {
    found.lines.push_back(fmt::format("checkpoint skipped: {}", why));
    if (broken_++ == 0) why_first_ = why;
  };
  if (!why_not.empty()) skip(why_not);
  while (!places_.empty()) {
    const ResumePlace place = std::move(places_.front());
    places_.erase(places_.begin());
    try {
      found.checkpoint = Checkpoint::open(place.folder);
    } catch (const NewerVersion&) {
      throw;  // it is intact: using an older one would lose training
    } catch (const Error& error) {
      skip(error.what());
      continue;
    }
    if (!counts(place, found.checkpoint->manifest())) continue;
    found.load = place.load;
    if (!origin_) found.origin = found.checkpoint->manifest().origin;
    if (place.only_if) {
      found.lines.push_back(went_further(place.folder));
    }
    return found;
  }
  found.checkpoint = nullptr;
  if (request_.resume == "never") return found;
  if (broken_ > 0 || origin_) throw none_left();
  return found;
}

}  // namespace ds
