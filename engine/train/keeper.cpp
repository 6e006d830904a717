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

constexpr auto kMeetTimeout = std::chrono::minutes(5);

/// What the ranks tell each other at the start, as bytes.
struct KeepCard {
  std::int64_t slot_bytes = 0;
  std::array<char, 256> node{};
};

}  // namespace

Keeper::Keeper(const TrainConfig& config, Trainer& trainer, Group& world, KeepFacts facts,
               Hooks hooks)
    : config_(config),
      trainer_(trainer),
      world_(world),
      facts_(std::move(facts)),
      hooks_(std::move(hooks)),
      group_(hooks_.make_group()) {
  meet();
}

Keeper::~Keeper() { stop_task(!reader_.expired()); }

// An exchange in which a rank is missing must not delay this one. A save may still need the share.
void Keeper::stop_task(bool needs_share) {
  cancel_.store(!needs_share);
  if (group_ && task_.is_running() && !task_.has_ended()) group_->abort();
}

void Keeper::leave(bool is_given_up) {
  has_left_ = true;
  if (!turns_.under_way()) return;
  stop_task(!is_given_up && !reader_.expired());
  static_cast<void>(written());
  turns_.decide(0, turns_.number());
}

void Keeper::meet() {
  std::vector<KeepCard> all(static_cast<std::size_t>(world_.size()));
  KeepCard& own = all[static_cast<std::size_t>(world_.rank())];
  const RankStates states = trainer_.states();
  own.slot_bytes = KeptSlot::bytes_for(layout_of(states.program, states.spec),
                                       head_of(trainer_, world_.size(), facts_.head));
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
  for (const KeepCard& card : all) most_bytes_ = std::max(most_bytes_, card.slot_bytes);
  if (roles_.ward != kNoBuddy) ward_bytes_ = all[static_cast<std::size_t>(roles_.ward)].slot_bytes;
}

std::string Keeper::line() const {
  const std::int64_t every = config_.elastic.every;
  return fmt::format(
      "keeps    2 x {} of states of rank {}{}, {}", format_bytes(own_bytes_), world_.rank(),
      roles_.ward == kNoBuddy
          ? std::string(has_pairs_ ? "" : "; no other node has copies")
          : fmt::format(" and 2 x {} of rank {}", format_bytes(ward_bytes_), roles_.ward),
      every == kAuto
          ? fmt::format("as often as {:.0f} % of the time allows", KeepPace::kShare * 100)
      : every == 1 ? std::string("every step")
                   : fmt::format("every {} steps", every));
}

void Keeper::wish(StepWishes& wishes) {
  const bool is_under_way = turns_.under_way().has_value();
  wishes.kept = turns_.number();
  if (is_off()) return;
  wishes.time_to_keep = world_.rank() == 0 && config_.elastic.every == kAuto && !is_under_way &&
                        seconds_of(Clock::now() - began_) >= pace_.interval();
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

void Keeper::begin_first() { begin(trainer_.finished_steps(), nullptr); }

// A step counts from the end of the one before, so with what began a keep in between.
void Keeper::follow(const StepReport& report) {
  const auto& under_way = turns_.under_way();
  const Clock::time_point now = Clock::now();
  if (last_step_ != Clock::time_point{})
    pace_.step(seconds_of(now - last_step_), under_way.has_value());
  last_step_ = now;
  if (!under_way) return;
  if (report.keep_failed >= under_way->number) return finish(true);
  if (report.kept < under_way->number) return;
  const std::int64_t step = under_way->step;
  const SaveOutcome own = written();
  conclude(turns_.decide(report.kept, report.keep_failed), step, own);
}

// A save that reads a slot of this rank reads the same one of all others.
void Keeper::begin_due(const StepReport& report, bool copy_is_needed) {
  const auto& under_way = turns_.under_way();
  if (under_way && under_way->step == report.step) return;  // a save began it
  due_ = due_ || is_due(report);
  const std::shared_ptr<SlotCopy> reader = reader_.lock();
  const bool is_read = reader && reader->slot() == turns_.next_slot();
  if (!due_ || is_off() || copy_is_needed || under_way || is_read) return;
  begin(report.step, nullptr);
}

std::shared_ptr<SaveCopy> Keeper::copy_for_save(std::int64_t step) {
  DS_ASSERT(!turns_.under_way(), "the memory of the copy is free");
  if (is_off() || kept_ < std::ssize(pairs_)) return nullptr;
  const int slot = turns_.next_slot();
  const auto copy = std::make_shared<SlotCopy>(pairs_[static_cast<std::size_t>(slot)].own, slot);
  reader_ = copy;
  begin(step, copy);
  return copy;
}

bool Keeper::copy_is_free(bool wait) {
  if (!turns_.under_way()) return true;
  if (wait) finish(false);
  return wait;
}

// A group is of no use after a failed exchange. If a rank cannot make a new one, this keep fails.
const KeepTurns::UnderWay& Keeper::begin_turn(std::int64_t step) {
  began_ = Clock::now();
  trainer_.flush();
  due_ = false;
  cancel_.store(false);
  try {
    if (!group_) group_ = hooks_.make_group();
  } catch (const Error& error) {
    no_group_ = error.what();
  }
  return turns_.begin(step);
}

void Keeper::begin(std::int64_t step, const std::shared_ptr<SlotCopy>& reader) {
  const int slot = begin_turn(step).slot;
  beside_ = true;
  Manifest head = head_of(trainer_, world_.size(), facts_.head);
  const StateCopy copy = begin_copy(trainer_, tiles_);
  stall_s_ = seconds_of(Clock::now() - began_);
  task_.start([this, copy, slot, head = std::move(head), reader] {
    trainer_.snapshot().wait();
    return keep(copy, head, slot, reader.get());
  });
}

bool Keeper::keep_now(std::int64_t step) {
  copy_is_free(true);
  if (is_off()) return false;
  if (turns_.step() == step) return true;
  const int slot = begin_turn(step).slot;
  const Manifest head = head_of(trainer_, world_.size(), facts_.head);
  const StateCopy copy = states_now(trainer_, tiles_);
  task_.start([&] {
    copy.states.executor.enter_thread();  // the states may lie in the device's memory
    return keep(copy, head, slot, nullptr);
  });
  finish(false);
  return turns_.step() == step;
}

SaveOutcome Keeper::written() {
  SaveOutcome own = task_.wait();
  if (!std::exchange(beside_, false)) return own;
  const SnapshotTimes copy = trainer_.snapshot().end();
  own.copied_s = copy.copied_s;
  own.stall_s = stall_s_ + copy.stall_s;
  const std::shared_ptr<SlotCopy> reader = reader_.lock();
  if (reader && reader->slot() == turns_.under_way()->slot) reader->copied(copy);
  return own;
}

void Keeper::finish(bool is_lost) {
  const bool has_own_reason = task_.has_ended() && !task_.outcome().why().empty();
  if (is_lost) stop_task(!reader_.expired());
  SaveOutcome own = written();
  own.cancelled = own.cancelled || (is_lost && !has_own_reason);
  const SaveOutcome all = gather_outcomes(world_, own, "keep");
  const KeepTurns::UnderWay keep = *turns_.under_way();
  const bool is_kept = all.why().empty();
  conclude(turns_.decide(is_kept ? keep.number : 0, is_kept ? 0 : keep.number), keep.step, all);
}

void Keeper::conclude(KeepTurns::Verdict verdict, std::int64_t step, const SaveOutcome& outcome) {
  pace_.kept(outcome.seconds, outcome.stall_s);
  if (verdict == KeepTurns::Verdict::committed) {
    if (++kept_ == 1 && hooks_.first_kept) hooks_.first_kept();
    return;
  }
  group_.reset();
  if (world_.rank() == 0 && hooks_.failed)
    hooks_.failed(step, fmt::format("rank {}: {}", outcome.rank, outcome.why()), is_off());
}

SaveOutcome Keeper::keep(const StateCopy& copy, const Manifest& head, int slot,
                         SlotCopy* reader) noexcept {
  const Clock::time_point start = Clock::now();
  SaveOutcome outcome{.rank = world_.rank()};
  Pair& pair = pairs_[static_cast<std::size_t>(slot)];
  bool has_share = false;
  ChunkPart part;
  try {
    open(pair.own, "own", slot, own_bytes_);
    part = write_own(copy, head, *pair.own);
    has_share = true;
  } catch (const std::exception& error) {
    outcome.fail(error.what());
  }
  if (reader != nullptr) reader->share_ended(std::move(part), std::string(outcome.why()));
  try {
    if (has_share && roles_.ward != kNoBuddy) open(pair.ward, "ward", slot, ward_bytes_);
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
void Keeper::open(std::shared_ptr<SlotMemory>& slot, const char* of, int number,
                  std::int64_t bytes) {
  if (slot) return;
  auto made = std::make_shared<SlotMemory>(bytes, facts_.folder);
  hooks_.hand_in({.name = fmt::format("e{}.r{}.{}{}", facts_.epoch, world_.rank(), of, number),
                  .bytes = bytes,
                  .fd = UniqueFd(::fcntl(made->slot().fd(), F_DUPFD_CLOEXEC, 0))});
  slot = std::move(made);
}

ChunkPart Keeper::write_own(const StateCopy& copy, const Manifest& head, SlotMemory& memory) {
  KeptSlot& slot = memory.slot();
  slot.begin();
  ChunkWriter chunk(
      {.path = "kept states", .cancel = &cancel_, .fd = slot.fd(), .first = KeptSlot::kPieces});
  KeptShare share{.run = facts_.run, .epoch = facts_.epoch, .head = head};
  share.part = write_states(copy.states, chunk, copy.buffer);
  share.part.rank = world_.rank();
  share.part.chunk = {.name = chunk_name(world_.rank()), .bytes = chunk.finish()};
  slot.finish(share);
  return share.part;
}

void Keeper::exchange(Pair& pair, bool has_share, SaveOutcome& outcome) noexcept {
  try {
    if (!group_) throw Error(ErrorKind::comm, no_group_);
    const auto longest =
        exchange_time(most_bytes_, std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(config_.comm.timeout)));
    const std::string lacks = exchange_shares(*group_, roles_, has_share ? pair.own.get() : nullptr,
                                              pair.ward.get(), Deadline::after(longest));
    if (lacks.empty() || !outcome.why().empty()) return;
    outcome.fail(lacks);
    outcome.cancelled = true;
  } catch (const std::exception& error) {
    if (!outcome.why().empty()) return;
    outcome.fail(error.what());
    outcome.cancelled = true;  // most often the other rank has a reason of its own
  }
}

}  // namespace ds
