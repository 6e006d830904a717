// The rules of a trial, one function each, and what was killed when, for the table.
#include "e2e/checkpoint/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "e2e/checkpoint/sync_order.h"
#include "engine/base/checkpoint_line.h"
#include "engine/checkpoint/save_folder.h"

namespace ds::test {
namespace {

/// Returns the step of the checkpoint that contains the path or is the path; 0: none.
std::int64_t step_in(const std::string& path) {
  const std::size_t at = path.rfind("step-");
  return at == std::string::npos ? 0 : std::atoll(path.c_str() + at + 5);
}

bool contains(const std::vector<std::int64_t>& steps, std::int64_t step) {
  return std::ranges::find(steps, step) != steps.end();
}

/// Returns what a process whose last noted call is `note` was doing.
std::string phase_of_call(const FileNote& note) {
  if (note.call == "unlink") return "thinning out";
  if (note.file == "chunk" || note.file == "part" || note.file == "manifest") return note.file;
  if (note.file == "latest") return "latest";
  if (note.call == "mkdir") return "beginning";
  if (note.file == "folder" && note.call == "sync") return "manifest";
  const std::size_t slash = note.path.rfind('/');
  const bool is_commit = step_of(note.path.substr(slash + 1)).has_value();
  if (note.file == "folder") return is_commit ? "rename" : "thinning out";
  return "rename";  // the sync of the parent folder
}

/// Returns whether any save has begun.
bool has_begun(const TrialEnd& end) {
  return std::ranges::any_of(end.notes, [](const FileNote& note) {
    return note.call == "mkdir" && note.file == "folder";
  });
}

/// Returns the phase in which the kill came. `rank`: the killed rank; -1: any.
std::string phase_of(const TrialEnd& end, const Said& said, const DrawnTrial& drawn, int rank) {
  if (!has_begun(end) && said.last_step == 0) return "starting";
  FileNote last;
  for (const FileNote& note : end.notes)
    if (note.call != "pid" && (rank < 0 || note.rank == rank)) last = note;
  const std::int64_t step = step_in(last.path);
  const bool is_by_fault = last.fault.starts_with("kill");
  const bool over = last.call.empty() || contains(said.saved, step) || contains(said.failed, step);
  if (is_by_fault || !over) return phase_of_call(last);
  return said.last_step > step && said.last_step % drawn.every == 0 ? "snapshot" : "between saves";
}

void judge_kill(const DrawnTrial& drawn, const TrialEnd& end, Judgement& judgement) {
  for (const FileNote& note : end.notes) {
    if (!note.fault.starts_with("kill") || !judgement.killed.empty()) continue;
    judgement.killed = note.fault == "kill-self"  ? "the writer itself"
                       : note.fault == "kill-all" ? "all ranks"
                                                  : "the launcher";
    judgement.during = has_begun(end) ? phase_of_call(note) : "starting";
  }
  if (!judgement.killed.empty() || !end.killed || end.ended_well()) return;
  const bool one = drawn.spec.kill.whom == Kill::Whom::rank;
  judgement.killed = one                                            ? "one rank"
                     : drawn.spec.kill.whom == Kill::Whom::launcher ? "the launcher"
                                                                    : "all ranks";
  judgement.during = phase_of(end, judgement.said, drawn, one ? drawn.spec.kill.rank : -1);
}

bool is_hard(const FileNote& note) {
  if (note.fault != "error" && note.fault != "space") return false;
  if (note.call == "rename" && note.file == "folder")
    return step_of(note.path.substr(note.path.rfind('/') + 1)).has_value();
  if (note.path.find(".tmp-") == std::string::npos) return false;  // a call of the reader
  const bool is_content = note.file == "chunk" || note.file == "part" || note.file == "manifest";
  return is_content && (note.call == "open" || note.call == "write" || note.call == "sync" ||
                        note.call == "close");
}

/// Rule: no save is reported as done if one of its files met an error.
void check_faults(const TrialEnd& end, Judgement& judgement) {
  for (const FileNote& note : end.notes) {
    if (note.fault.empty() || note.fault.starts_with("kill")) continue;
    judgement.faults.insert(fmt::format("{} at {} of {}", note.fault, note.call, note.file));
    if (is_hard(note) && contains(judgement.said.saved, step_in(note.path)))
      judgement.wrong.push_back(fmt::format("step {} is reported as saved, but {} of {} failed",
                                            step_in(note.path), note.call, note.path));
  }
}

/// Rule: the trial resumed at the newest good checkpoint and reported those it skipped.
void check_resume(const TrialEnd& end, const Found& found, Judgement& judgement) {
  const Said& said = judgement.said;
  auto& wrong = judgement.wrong;
  if (found.is_refused()) {
    if (said.first_step > 0) wrong.emplace_back("it started at step 0 although checkpoints exist");
    return;
  }
  if (said.resumed && *said.resumed != found.newest_good)
    wrong.push_back(fmt::format("resumed at step {}, not {}", *said.resumed, found.newest_good));
  if (said.first_step > 0 && said.first_step != found.newest_good + 1)
    wrong.push_back(
        fmt::format("the first step is {}, not {}", said.first_step, found.newest_good + 1));
  if (said.first_step > 0 && !said.resumed && found.newest_good > 0)
    wrong.emplace_back("no line says where it resumed");
  if (said.first_step == 0) return;
  for (const std::string& name : found.newer_bad) {
    const bool named = std::ranges::any_of(end.lines, [&](const std::string& line) {
      return line.find(name) != std::string::npos && !parse_checkpoint_line(line);
    });
    if (!named) wrong.push_back(fmt::format("{} is broken, and no line reports it", name));
  }
}

void find_spoiled(const TrialEnd& end, const Said& said, std::set<std::int64_t>& spoiled) {
  for (const std::int64_t step : said.saved) spoiled.erase(step);
  for (const FileNote& note : end.notes)
    if (note.fault == "flip") spoiled.insert(step_in(note.path));
}

/// Rule: folders with the name of a complete checkpoint are complete, bit-exact and new enough.
void check_left(const Found& found, const Reference& reference,
                const std::set<std::int64_t>& spoiled, Judgement& judgement) {
  auto& wrong = judgement.wrong;
  std::int64_t newest = 0, due = found.newest_good;
  for (const SavedStep& saved : judgement.left) {
    if (saved.good()) newest = std::max(newest, saved.step);
    const auto expected = reference.content.find(saved.step);
    if (saved.good() && (expected == reference.content.end() || expected->second != saved.content))
      wrong.push_back(fmt::format("{} verifies and holds other values", saved.name));
    if (!saved.good() && !spoiled.contains(saved.step))
      wrong.push_back(fmt::format("{} is broken: {}", saved.name, saved.problem));
  }
  for (const std::int64_t step : judgement.said.saved)
    if (!spoiled.contains(step)) due = std::max(due, step);
  if (newest < due)
    wrong.push_back(fmt::format("the newest good one is of step {}, not {}", newest, due));
}

/// Rule: a trial without a fault that could end it ended well, with all steps.
void check_end(const DrawnTrial& drawn, const TrialEnd& end, const Found& found,
               const Reference& reference, Judgement& judgement) {
  auto& wrong = judgement.wrong;
  if (end.hung) wrong.emplace_back("it hung");
  judgement.ended_well = end.ended_well();
  if (judgement.ended_well) {
    const std::string hash = summary_hash(drawn.spec.folder);
    if (hash != reference.weights_hash)
      wrong.push_back(fmt::format("weights_hash {}, not {}", hash, reference.weights_hash));
    return;
  }
  if (!judgement.killed.empty()) return;
  const bool has_errors = std::ranges::any_of(end.notes, [](const FileNote& note) {
    return note.fault == "error" || note.fault == "space" || note.fault == "flip";
  });
  if (!has_errors && !found.is_refused())
    wrong.push_back(fmt::format("it ended with {}: {}", end.codes.front(), judgement.said.error));
  else if (judgement.said.error.empty())
    wrong.push_back(fmt::format("it ended with {} and does not say why", end.codes.front()));
}

std::string latest_in(const std::filesystem::path& dir) {
  std::ifstream file(dir / "latest");
  std::string name;
  std::getline(file, name);
  return name;
}

/// Rule: after saves without faults the folder is as the settings require.
void check_tidy(const DrawnTrial& drawn, Judgement& judgement) {
  if (!judgement.ended_well || !judgement.faults.empty() || judgement.said.saved.empty()) return;
  std::vector<std::int64_t> steps;
  for (const SavedStep& saved : judgement.left) steps.push_back(saved.step);
  std::ranges::sort(steps);
  const auto rest = surplus(steps, {.keep = drawn.keep, .major_every = drawn.major_every});
  if (latest_in(drawn.spec.saves) != judgement.left.front().name)
    judgement.wrong.push_back(fmt::format("latest says {}", latest_in(drawn.spec.saves)));
  if (!rest.empty())
    judgement.wrong.push_back(fmt::format("step {} should have been removed", rest.front()));
  for (const std::string& name : other_names(drawn.spec.saves))
    if (name.find(".tmp") != std::string::npos)
      judgement.wrong.push_back(fmt::format("{} was left", name));
}

}  // namespace

std::string summary_hash(const std::filesystem::path& folder) {
  std::ifstream file(folder / "run" / "summary.json");
  const std::string key = "\"weights_hash\": \"";
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(key);
    if (at != std::string::npos) return line.substr(at + key.size(), 32);
  }
  return "none";
}

Said said_in(const std::vector<std::string>& lines) {
  Said said;
  for (const std::string& line : lines) {
    if (line.starts_with("dsrunner: ") && said.error.empty()) said.error = line;
    if (line.starts_with("step ")) {
      said.last_step = std::atoll(line.c_str() + 5);
      if (said.first_step == 0) said.first_step = said.last_step;
    }
    const auto told = parse_checkpoint_line(line);
    if (!told) continue;
    if (told->what == CheckpointLine::What::saved) said.saved.push_back(told->step);
    if (told->what == CheckpointLine::What::failed) said.failed.push_back(told->step);
    if (told->what == CheckpointLine::What::resumed) said.resumed = told->step;
  }
  return said;
}

Found found_in(const std::vector<SavedStep>& steps) {
  Found found;
  for (const SavedStep& saved : steps) {
    if (saved.good()) {
      found.newest_good = saved.step;
      break;
    }
    found.newer_bad.push_back(saved.name);
  }
  return found;
}

Judgement judge(const DrawnTrial& drawn, const TrialEnd& end, const Found& found,
                const Reference& reference, std::set<std::int64_t>& spoiled) {
  Judgement judgement;
  judgement.said = said_in(end.lines);
  judgement.left = saved_steps(drawn.spec.saves);
  judge_kill(drawn, end, judgement);
  find_spoiled(end, judgement.said, spoiled);
  check_faults(end, judgement);
  check_resume(end, found, judgement);
  check_left(found, reference, spoiled, judgement);
  check_end(drawn, end, found, reference, judgement);
  check_tidy(drawn, judgement);
  for (const std::string& each : order_violations(end.notes)) judgement.wrong.push_back(each);
  return judgement;
}

}  // namespace ds::test
