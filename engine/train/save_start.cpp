// Checks the checkpoint folder on every rank and exchanges the findings.
#include "engine/train/save_start.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>

#include "engine/base/units.h"
#include "engine/checkpoint/shared_folder.h"

namespace ds {
namespace {

constexpr auto kTimeout = std::chrono::minutes(5);
constexpr auto kForEarlierJob = std::chrono::seconds(5);
constexpr auto kToSeeProbe =
    std::chrono::seconds(10);  // network file systems cache directories for seconds
constexpr double kShareOfGrace =
    0.7;  // the rest is for the end of the step before and commit and exit after

/// Returns a random number, on rank 0. No two runs share one, so a process that survived its job on
/// a lost node never writes into a save of a later run.
std::uint64_t new_epoch() {
  std::random_device random;
  return std::uint64_t{random()} << 32U | random();
}

std::string own_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Another job may have written its last save while this one started.
void require_none_after(std::int64_t newest, const SaveFolder& folder) {
  const std::vector<std::string> names = folder.complete();
  if (names.empty() || *step_of(names.front()) <= newest) return;
  throw Error(ErrorKind::config,
              fmt::format("checkpoint.dir {}: another job completed {} after this job chose its "
                          "checkpoint",
                          folder.dir(), names.front()),
              "start this job again to resume from that checkpoint");
}

std::int64_t bytes_saved_by(const RankStates& states) {
  std::int64_t elements = 0;
  for (const SavedTile& tile : saved_tiles(states.program, states.spec)) elements += tile.elements;
  return elements * size_of(DType::f32);
}

}  // namespace

SaveStart start_saves(const CheckpointConfig& config, const SaveOwner& owner, std::int64_t newest,
                      Trainer& trainer, StartVote& vote) {
  SaveStart start;
  Group& world = vote.world();
  const bool is_first = world.rank() == 0;
  std::uint64_t epoch = is_first ? new_epoch() : 0;
  world.about("checkpoint.epoch");
  world.broadcast(std::as_writable_bytes(std::span(&epoch, 1)), Deadline::after(kTimeout));
  const std::string nonce = fmt::format("{:016x}", epoch);
  const auto make = [&] { start.folder = std::make_unique<SaveFolder>(config.dir, epoch); };
  vote.together("checkpoint.folder", [&](SaveOutcome&) {
    if (!is_first) return;
    make();
    start.folder->own(kForEarlierJob, owner);
    // A rank of an earlier epoch may have ended its save late; its checkpoint is set aside.
    if (owner.epoch == 0) require_none_after(newest, *start.folder);
    leave_probe(config.dir, nonce);
  });
  const SaveOutcome all = vote.together("checkpoint.probe", [&](SaveOutcome& outcome) {
    if (!is_first) {
      if (!sees_probe(config.dir, nonce, Deadline::after(kToSeeProbe)))
        throw other_folder_error(config.dir, "rank 0's node", {{world.rank(), own_host()}});
      make();
    }
    outcome.bytes = bytes_saved_by(trainer.states());
    if (owner.epoch > 0) return;
    try_folder(config.dir, world.rank());
    outcome.rate = static_cast<double>(measure_write_rate(config.dir));
  });
  start.bytes = all.bytes;
  start.rate = all.rate;
  vote.together("checkpoint.room", [&](SaveOutcome&) {
    if (!is_first) return;
    remove_probe(config.dir, nonce);
    // A disk that became full during the job ends no epoch: its saves fail, and say so.
    if (owner.epoch == 0) check_room(config.dir, start.folder->free_bytes(), start.bytes);
    start.set_aside = start.folder->set_aside_after(trainer.finished_steps());
  });
  return start;
}

std::vector<std::string> lines_of(const SaveStart& start, const CheckpointConfig& config,
                                  std::optional<double> grace_s) {
  std::vector<std::string> lines;
  for (const std::string& name : start.set_aside)
    lines.push_back(fmt::format(
        "saves    {} is later than the step at which this run starts: set aside", name));
  if (start.rate == 0) return lines;
  const double seconds = static_cast<double>(start.bytes) / start.rate;
  const bool is_told = grace_s.has_value() && config.on_signal;
  lines.push_back(fmt::format(
      "saves    {} per checkpoint in {}, about {} at {}/s{}", format_bytes(start.bytes), config.dir,
      format_duration(seconds), format_bytes(static_cast<std::int64_t>(start.rate)),
      is_told ? fmt::format("; {} from a stop signal to KILL", format_duration(*grace_s))
              : std::string()));
  if (is_told && seconds > kShareOfGrace * *grace_s) {
    lines.push_back(fmt::format(
        "saves    that may be too short to save a checkpoint on a signal: use --grace {:.0f}s "
        "or save more often",
        seconds / kShareOfGrace + 5));
  }
  return lines;
}

}  // namespace ds
