// A keep: snapshot, own slot, exchange with the buddies, and the decision of all ranks about it.
#include "engine/train/keeper.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "engine/base/units.h"
#include "engine/checkpoint/save_names.h"
#include "engine/comm/pieces.h"

namespace ds {
namespace {

// Copies move in seconds. Ranks that are lost or stopped are detected much earlier.
constexpr auto kExchangeTimeout = std::chrono::minutes(10);
constexpr auto kMeetTimeout = std::chrono::minutes(5);

/// What the ranks tell each other at the start, as bytes.
struct KeepCard {
  std::int64_t slot_bytes = 0;
  std::array<char, 256> node{};
};

}  // namespace

Keeper::Keeper(const TrainConfig& config, Trainer& trainer, Group& world,
               std::unique_ptr<Group> group, KeepFacts facts, Hooks hooks)
    : config_(config),
      trainer_(trainer),
      world_(world),
      group_(std::move(group)),
      facts_(std::move(facts)),
      hooks_(std::move(hooks)) {
  meet();
}

// An exchange in which a rank is missing must not delay the end of this one.
Keeper::~Keeper() {
  cancel_.store(true);
  if (task_.is_running() && !task_.has_ended()) group_->abort();
}

void Keeper::meet() {
  std::vector<KeepCard> all(static_cast<std::size_t>(world_.size()));
  KeepCard& own = all[static_cast<std::size_t>(world_.rank())];
  own.slot_bytes = kept_slot_bytes(trainer_.programs());
  std::copy_n(facts_.node.data(), std::min(facts_.node.size(), own.node.size() - 1),
              own.node.data());
  world_.about("keep.ranks");
  world_.all_gather(cut_pieces(std::as_writable_bytes(std::span(all)), all.size()),
                    Deadline::after(kMeetTimeout));
  std::vector<std::string> names;
  for (const KeepCard& card : all) names.emplace_back(card.node.data());
  const std::vector<int> buddies = buddies_of(numbers_of(names));
  const auto rank = static_cast<std::size_t>(world_.rank());
  roles_ = {.buddy = buddies[rank], .ward = wards_of(buddies)[rank]};
  has_pairs_ = std::ranges::any_of(buddies, [](int buddy) { return buddy != kNoBuddy; });
  own_bytes_ = own.slot_bytes;
  if (roles_.ward != kNoBuddy) ward_bytes_ = all[static_cast<std::size_t>(roles_.ward)].slot_bytes;
}

std::string Keeper::line() const {
  const std::int64_t every = config_.elastic.every;
  return fmt::format(
      "keeps    2 x {} of states of rank {}{}, {}", format_bytes(own_bytes_), world_.rank(),
      roles_.ward == kNoBuddy ? std::string(has_pairs_ ? "" : "; no other node has copies")
                              : fmt::format(" and 2 x {} of rank {}", format_bytes(ward_bytes_),
                                            roles_.ward),
      every == kAuto ? fmt::format("as often as {:.0f} % of the time allows", KeepPace::kShare * 100)
      : every == 1   ? std::string("every step")
                     : fmt::format("every {} steps", every));
}

void Keeper::wish(StepWishes& wishes) {
  const Clock::time_point now = Clock::now();
  const bool is_under_way = turns_.under_way().has_value();
  if (last_wish_ != Clock::time_point{}) pace_.step(seconds_of(now - last_wish_), is_under_way);
  last_wish_ = now;
  wishes.kept = turns_.number();
  if (is_off_) return;
  wishes.time_to_keep = world_.rank() == 0 && config_.elastic.every == kAuto && !is_under_way &&
                        seconds_of(now - began_) >= pace_.interval();
  if (!is_under_way) return;
  const bool has_ended = task_.is_running() && task_.has_ended();
  const bool has_failed = has_ended && !task_.outcome().why().empty();
  if (!has_ended || has_failed) --wishes.kept;
  if (has_failed) wishes.keep_failed = turns_.number();
}

bool Keeper::is_due(const StepReport& report) const {
  const std::int64_t every = config_.elastic.every;
  return report.time_to_keep || (every > 0 && report.step % every == 0);
}

void Keeper::begin_first() { begin(trainer_.finished_steps()); }

void Keeper::follow(const StepReport& report) {
  const auto& under_way = turns_.under_way();
  if (!under_way) return;
  if (report.keep_failed >= under_way->number) return finish();
  if (report.kept < under_way->number) return;
  const SaveOutcome own = written();
  conclude(turns_.decide(report.kept, report.keep_failed), own);
}

void Keeper::begin_due(const StepReport& report, bool copy_is_needed) {
  due_ = due_ || is_due(report);
  if (!due_ || is_off_ || copy_is_needed || turns_.under_way()) return;
  begin(report.step);
}

bool Keeper::copy_is_free(bool wait) {
  if (!turns_.under_way()) return true;
  if (wait) finish();
  return wait;
}

void Keeper::begin(std::int64_t step) {
  began_ = Clock::now();
  trainer_.flush();
  due_ = false;
  beside_ = true;
  const int slot = turns_.begin(step).slot;
  Manifest head = head_of(trainer_, world_.size(), facts_.head);
  const StateCopy copy = begin_copy(trainer_, tiles_);
  stall_s_ = seconds_of(Clock::now() - began_);
  task_.start([this, copy, slot, head = std::move(head)] {
    trainer_.snapshot().wait();
    return keep(copy, head, slot);
  });
}

bool Keeper::keep_now(std::int64_t step) {
  copy_is_free(true);
  if (is_off_) return false;
  if (turns_.step() == step) return true;
  trainer_.flush();
  beside_ = false;
  const int slot = turns_.begin(step).slot;
  const Manifest head = head_of(trainer_, world_.size(), facts_.head);
  const StateCopy copy = states_now(trainer_, tiles_);
  task_.start([&] { return keep(copy, head, slot); });
  finish();
  return turns_.step() == step;
}

SaveOutcome Keeper::written() {
  SaveOutcome own = task_.wait();
  if (!std::exchange(beside_, false)) return own;
  const SnapshotTimes copy = trainer_.snapshot().end();
  own.copied_s = copy.copied_s;
  own.stall_s = stall_s_ + copy.stall_s;
  return own;
}

void Keeper::finish() {
  const SaveOutcome all = gather_outcomes(world_, written(), "keep");
  const std::int64_t number = turns_.under_way()->number;
  const bool is_kept = all.why().empty();
  conclude(turns_.decide(is_kept ? number : 0, is_kept ? 0 : number), all);
}

void Keeper::conclude(KeepTurns::Verdict verdict, const SaveOutcome& outcome) {
  if (verdict == KeepTurns::Verdict::committed) {
    pace_.kept(outcome.seconds, outcome.stall_s);
    if (turns_.number() == 1 && hooks_.drop_earlier) hooks_.drop_earlier();
    return;
  }
  is_off_ = true;
  if (world_.rank() == 0 && hooks_.failed)
    hooks_.failed(fmt::format("rank {}: {}", outcome.rank, outcome.why()));
}

SaveOutcome Keeper::keep(const StateCopy& copy, const Manifest& head, int slot) noexcept {
  const Clock::time_point start = Clock::now();
  SaveOutcome outcome{.rank = world_.rank()};
  Pair& pair = pairs_[static_cast<std::size_t>(slot)];
  bool has_share = false;
  try {
    open(pair.own, "own", slot, own_bytes_);
    write_own(copy, head, *pair.own);
    has_share = true;
    if (roles_.ward != kNoBuddy) open(pair.ward, "ward", slot, ward_bytes_);
  } catch (const std::exception& error) {
    outcome.fail(error.what());
  }
  if (copy.states.frozen != nullptr) copy.states.frozen->thaw();
  if (has_pairs_) exchange(pair, has_share, outcome);
  outcome.seconds = seconds_of(Clock::now() - start);
  return outcome;
}

// Reserved when it is first needed: until then the node may still hold the slots of the epoch
// before.
void Keeper::open(std::optional<SlotMemory>& slot, const char* of, int number,
                  std::int64_t bytes) {
  if (slot) return;
  slot.emplace(bytes, facts_.folder);
  if (!hooks_.hand_in) return;
  hooks_.hand_in({.name = fmt::format("e{}.r{}.{}{}", facts_.epoch, world_.rank(), of, number),
                  .bytes = bytes,
                  .fd = UniqueFd(::fcntl(slot->slot().fd(), F_DUPFD_CLOEXEC, 0))});
}

void Keeper::write_own(const StateCopy& copy, const Manifest& head, SlotMemory& memory) {
  KeptSlot& slot = memory.slot();
  slot.begin();
  ChunkWriter chunk({.path = "kept states",
                     .cancel = &cancel_,
                     .fd = slot.fd(),
                     .first = KeptSlot::kPieces});
  KeptShare share{.run = facts_.run, .epoch = facts_.epoch, .head = head};
  share.part = write_states(copy.states, chunk, copy.buffer);
  share.part.rank = world_.rank();
  share.part.chunk = {.name = chunk_name(world_.rank()), .bytes = chunk.finish()};
  slot.finish(share);
}

void Keeper::exchange(Pair& pair, bool has_share, SaveOutcome& outcome) noexcept {
  try {
    const std::string lacks =
        exchange_shares(*group_, roles_, has_share ? &*pair.own : nullptr,
                        pair.ward ? &*pair.ward : nullptr, Deadline::after(kExchangeTimeout));
    if (lacks.empty() || !outcome.why().empty()) return;
    outcome.fail(lacks);
    outcome.cancelled = true;
  } catch (const std::exception& error) {
    if (outcome.why().empty()) outcome.fail(error.what());
  }
}

}  // namespace ds
