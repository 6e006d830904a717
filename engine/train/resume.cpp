// The steps of a resume: keep settings, agree, load, fall back to older checkpoints.
#include "engine/train/resume.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "engine/base/checkpoint_line.h"
#include "engine/base/units.h"
#include "engine/comm/notes.h"
#include "engine/config/keys.h"
#include "engine/data/byte_tokens.h"
#include "engine/states/checkpoint_source.h"
#include "engine/train/save_outcome.h"
#include "engine/train/trained_model.h"

namespace ds {
namespace {

constexpr auto kTimeout = std::chrono::minutes(5);

std::map<std::string, std::string> values_of(const std::string& list) {
  std::map<std::string, std::string> values;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find('\n', at), list.size());
    const std::string line = list.substr(at, end - at);
    const std::size_t equals = line.find(" = ");
    if (equals != std::string::npos) values[line.substr(0, equals)] = line.substr(equals + 3);
    at = end + 1;
  }
  return values;
}

/// Returns the value of a setting in jobs that were saved before it had a key: the default of
/// today, except for no_decay, without which all tensors decayed, and for the number of tokens.
std::string value_before(const std::string& name) {
  if (name == "optimizer.no_decay") return "[]";
  if (name == "model.tokens") return fmt::format("{}", kByteTokens);  // of the only tokenizer
  const Key* const key = find_key(name);
  return key == nullptr ? "absent" : to_toml(key->get(TrainConfig()));
}

/// Returns the entries of a printed list, such as ["norms", "biases"].
std::set<std::string> entries_of(const std::string& list) {
  std::set<std::string> entries;
  for (std::size_t at = list.find('"'); at != std::string::npos;) {
    const std::size_t end = std::min(list.find('"', at + 1), list.size());
    entries.insert(list.substr(at, end - at));
    at = list.find('"', end + 1);
  }
  return entries;
}

/// Returns whether two printed values of a setting mean the same. no_decay is a set.
bool is_same(const std::string& name, const std::string& a, const std::string& b) {
  return name == "optimizer.no_decay" ? entries_of(a) == entries_of(b) : a == b;
}

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string identity_of(const Checkpoint* checkpoint) {
  if (checkpoint == nullptr) return "none";
  const Manifest& manifest = checkpoint->manifest();
  return fmt::format("step {}, saved at {} ms", manifest.state.step, manifest.saved_ms);
}

}  // namespace

std::optional<std::string> arithmetic_value(const std::string& list, std::string_view name) {
  const auto values = values_of(list);
  const auto found = values.find(std::string(name));
  if (found == values.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> arithmetic_differences(const std::string& saved, const std::string& now) {
  const auto before = values_of(saved);
  std::vector<std::string> lines;
  for (const auto& [name, value] : values_of(now)) {
    const auto old = before.find(name);
    const std::string was = old == before.end() ? value_before(name) : old->second;
    if (!is_same(name, value, was))
      lines.push_back(fmt::format("{}: {}, was {}", name, value, was));
  }
  return lines;
}

Resume::Resume(const CheckpointConfig& config, const Rendezvous& job)
    : search_({.resume = config.resume,
               .load = config.load == LoadWhat::all ? "all" : "weights",
               .dir = config.dir,
               .job = job.job_id,
               .is_restart = job.epoch > 0}),
      found_(search_.next()) {}

LoadWhat Resume::what() const {
  return found_.load == "weights" ? LoadWhat::weights : LoadWhat::all;
}

std::vector<std::string> Resume::kept(const LoadRequest& request) const {
  if (!found_.checkpoint || what() == LoadWhat::weights) return {};
  const std::string& saved = found_.checkpoint->manifest().arithmetic;
  std::vector<std::string> overrides;
  const auto ranks = arithmetic_value(saved, "determinism.virtual_ranks");
  if (ranks && !gives_key(request, "determinism.virtual_ranks")) {
    // Every rank needs a virtual rank, so a larger job needs more than the first start had.
    overrides.push_back(fmt::format("determinism.virtual_ranks={}",
                                    std::max(number_of(*ranks), request.world_size)));
  }
  const auto order = arithmetic_value(saved, "determinism.order");
  if (order && !gives_key(request, "determinism.order"))
    overrides.push_back("determinism.order=" + *order);
  return overrides;
}

void Resume::require_model(const TrainConfig& config) const {
  if (!found_.checkpoint) return;
  // Lengths of the encoder's sequences change no tensor, and are not known before the data are.
  const ModelShape smallest{.micro = 1,
                            .seq_len = config.data.seq_len,
                            .act = DType::f32,
                            .fields = {.encoder_len = 1}};
  require_tensors(*found_.checkpoint, what(), trained_model(config, smallest, 0),
                  shard_spec(config, 0, 1).update);
}

std::int64_t Resume::load_found(Trainer& trainer) const {
  CheckpointSource source(found_.checkpoint, what());
  trainer.load(source);
  return source.bytes_read();
}

void Resume::load(Trainer& trainer, StartVote& vote, const LoadRequest& request, const Say& say) {
  const std::vector<std::string> chosen = kept(request);
  Group& world = vote.world();
  SaveOutcome outcome;
  for (;;) {
    for (const std::string& line : found_.lines) say(line);
    const Checkpoint* const from = checkpoint();
    require_agreement(world, "checkpoint to resume from", identity_of(from),
                      Deadline::after(kTimeout));
    if (from == nullptr) {
      vote.together("start.weights", [&](SaveOutcome&) { trainer.begin(); });
      return;
    }
    require_tensors(*from, what(), trainer.step_program(), trainer.spec().update);
    const Clock::time_point start = Clock::now();
    outcome = {};
    try {
      outcome.bytes = load_found(trainer);
    } catch (const Error& error) {
      outcome.fail(error.what());
    }
    outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    outcome = gather_outcomes(world, outcome, "checkpoint.load");
    if (outcome.why().empty()) break;
    found_ = search_.next(fmt::format("rank {}: {}", outcome.rank, outcome.why()));
    if (kept(request) != chosen) {
      throw Error(ErrorKind::config,
                  fmt::format("{}; the next older checkpoint, {}, was saved with a different "
                              "number of virtual ranks",
                              outcome.why(), checkpoint() == nullptr ? "" : checkpoint()->folder()),
                  "to resume from it, set checkpoint.resume=PATH");
    }
  }
  trainer.share(what() == LoadWhat::all);
  const Manifest& manifest = checkpoint()->manifest();
  if (what() == LoadWhat::all) {
    trainer.resume(manifest.state);
    say(resumed_line(manifest.state.step, checkpoint()->folder()));
    for (const std::string& line :
         arithmetic_differences(manifest.arithmetic, trainer.arithmetic()))
      say("resume   arithmetic differs from the saved run: " + line);
  } else {
    say(fmt::format("weights loaded from step {} of {}", manifest.state.step,
                    checkpoint()->folder()));
  }
  const double rate = static_cast<double>(outcome.bytes) / std::max(outcome.seconds, 1e-9);
  say(fmt::format("resume   {} read in {:.3g} s, {}/s", format_bytes(outcome.bytes),
                  outcome.seconds, format_bytes(static_cast<std::int64_t>(rate))));
}

}  // namespace ds
