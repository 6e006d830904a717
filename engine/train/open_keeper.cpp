// Joins the keeper with the agent's channel and with the lines of rank 0.
#include "engine/train/open_keeper.h"

#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

constexpr auto kKeepGroupTimeout = std::chrono::seconds(30);  // training waits for a new group
constexpr auto kKeepAgentTimeout = std::chrono::seconds(20);

Keeper::Hooks hooks_of(RankChannel& channel, Group& world, Collectives& collectives,
                       Reporter* reporter) {
  GroupSpec spec = world.spec();
  spec.name = "keep";
  return {
      .make_group =
          [spec, &collectives] {
            return collectives.make_group(spec, Deadline::after(kKeepGroupTimeout));
          },
      .hand_in =
          [&channel](const KeptFile& file) {
            channel.keep(file);
            channel.await_held(file.name, Deadline::after(kKeepAgentTimeout));
          },
      .first_kept =
          [&channel] {
            channel.drop_earlier_epochs();
            channel.tell_phase(kKeptPhase);
          },
      .failed =
          [reporter](std::int64_t step, const std::string& why, bool is_over) {
            if (reporter == nullptr) return;
            reporter->note(
                is_over
                    ? fmt::format("keeps    no more states from now on, training goes on: {}", why)
                    : fmt::format("keeps    step {} is not kept, the next one that is due is "
                                  "tried: {}",
                                  step, why));
          }};
}

}  // namespace

void settle_keeping(ElasticConfig& config, const KeepPlace& place) {
  const bool is_asked = config.every == kAuto ? place.is_elastic : config.every > 0;
  config.keeps = is_asked && place.has_agent;
  config.has_buddies = config.keeps && place.has_nodes;
}

KeepPlace keep_place(const JobRequest& request, bool is_check) {
  return {.has_agent = is_check || request.channel != nullptr,
          .is_elastic = request.most_ranks > 0,
          .has_nodes = request.rendezvous.world_size > request.local_ranks};
}

std::unique_ptr<Keeper> open_keeper(const TrainConfig& config, const JobRequest& request,
                                    Trainer& trainer, Group& world, Collectives& collectives,
                                    SaveFacts head, Reporter* reporter) {
  if (!config.elastic.keeps) {
    if (reporter != nullptr && config.elastic.every > 0)
      reporter->note(
          "keeps    nothing in spite of elastic.every: no agent of dslaunch holds its memory");
    return nullptr;
  }
  const bool in_files = config.offload.optimizer.device == OffloadDevice::nvme;
  auto keeper = std::make_unique<Keeper>(
      config, trainer, world,
      KeepFacts{.run = request.rendezvous.job_id,
                .epoch = request.rendezvous.epoch,
                .node = request.node,
                .folder = in_files ? config.offload.optimizer.paths.front() : std::string(),
                .head = std::move(head)},
      hooks_of(*request.channel, world, collectives, reporter));
  if (reporter != nullptr) reporter->note(keeper->line());
  return keeper;
}

}  // namespace ds
