#include "engine/report/run_facts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <map>
#include <optional>
#include <string_view>

#include "engine/base/units.h"
#include "engine/base/whole_number.h"

namespace ds::report {
namespace {

constexpr std::int64_t kStillRunning = 60;  // seconds

/// Returns a value without the quotes of TOML; empty without the key.
std::string text_at(const TextByKey& keys, std::string_view key) {
  const auto found = keys.find(key);
  if (found == keys.end()) return {};
  std::string_view text = found->second;
  if (text.size() >= 2 && text.front() == text.back() && (text.front() == '"' || text[0] == '\''))
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::optional<double> number_at(const TextByKey& keys, std::string_view key) {
  const std::optional<double> number = whole_number<double>(text_at(keys, key));
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::string utc(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr) return {};
  return fmt::format("{:%Y-%m-%d %H:%M}", parts);
}

std::string with_digits(double value) { return fmt::format("{:.4f}", value); }

void add_fact(Facts& facts, std::string label, std::string value) {
  if (!value.empty()) facts.emplace_back(std::move(label), std::move(value));
}

std::string best_validation(const JoinedRun& run) {
  std::map<std::string, const ValidationLine*> best;
  for (const ValidationLine& line : run.validations) {
    if (!std::isfinite(line.loss)) continue;
    const ValidationLine*& held = best[line.set];
    if (held == nullptr || line.loss < held->loss) held = &line;
  }
  std::string text;
  for (const auto& [set, line] : best)
    text += fmt::format("{}{}{}{} (step {})", text.empty() ? "" : ", ", set, set.empty() ? "" : " ",
                        with_digits(line->loss), line->at.step);
  return text;
}

double median_rate(const JoinedRun& run) {
  std::vector<double> rates;
  for (const StepLine& line : run.steps)
    if (std::isfinite(line.of(Figure::tokens_per_s)))
      rates.push_back(line.of(Figure::tokens_per_s));
  if (rates.empty()) return kNoNumber;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::ranges::nth_element(rates, middle);
  return *middle;
}

std::string model_text(const RunPart& part) {
  const TextByKey& keys = part.config;
  std::string name = text_at(keys, "model.preset");
  if (name.empty()) name = text_at(keys, "model.arch");
  if (name.empty()) return {};
  const std::string layers = text_at(keys, "model.layers"), hidden = text_at(keys, "model.hidden");
  if (!layers.empty() && !hidden.empty())
    name += fmt::format(", {} layers × {} wide", layers, hidden);
  return name;
}

std::string ranks_text(const RunPart& part) {
  const TextByKey& known = part.start.contains("world_size") ? part.start : part.summary;
  const std::string ranks = text_at(known, "world_size");
  if (ranks.empty()) return {};
  const std::string host = text_at(part.start, "host"), here = text_at(part.start, "local_ranks");
  if (host.empty()) return ranks;
  if (here.empty() || here == ranks) return fmt::format("{} on {}", ranks, host);
  return fmt::format("{}, {} of them on {}", ranks, here, host);
}

std::string parameters_text(const RunPart& part) {
  const TextByKey& known = part.start.contains("parameters") ? part.start : part.summary;
  const std::optional<double> count = number_at(known, "parameters");
  return count ? format_count(*count) : std::string();
}

/// Returns when a process began, as it wrote it, else the time of its config.toml.
std::string started_text(const RunPart& part) {
  const std::string told = text_at(part.start, "started").substr(0, 16);  // to the minute
  return !told.empty() ? told : part.begun ? utc(*part.begun) : std::string();
}

std::string offload_text(const RunPart& part) {
  std::string text;
  for (const std::string_view what : {"optimizer", "weights", "gradients", "activations"}) {
    const std::string to = text_at(part.config, fmt::format("offload.{}.device", what));
    if (!to.empty() && to != "none")
      text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", what, to);
  }
  return text;
}

/// Appends `events`, or the first 49 and how many more there are.
void add_limited(std::vector<RunEvent>& all, const std::vector<RunEvent>& events,
                 std::string_view kind) {
  constexpr std::size_t kMost = 50;
  const std::size_t shown = events.size() <= kMost ? events.size() : kMost - 1;
  all.insert(all.end(), events.begin(), events.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < events.size())
    all.push_back({events[shown].step, fmt::format("{} more {}", events.size() - shown, kind)});
}

std::vector<RunEvent> resume_events(const JoinedRun& run) {
  std::vector<RunEvent> events;
  for (const Resume& resume : run.resumes) {
    const std::string again =
        resume.lost > 0 ? fmt::format("; {} steps were done again", resume.lost) : std::string();
    events.push_back({resume.step, resume.step == 0
                                       ? "started again from step 0; the curves begin there"
                                       : fmt::format("resumed at step {}{}", resume.step, again)});
  }
  return events;
}

std::vector<RunEvent> loss_events(const JoinedRun& run) {
  std::vector<RunEvent> events;
  for (const StepLine& line : run.steps)
    if (!std::isfinite(line.of(Figure::loss)))
      events.push_back({line.at.step, "the loss is not finite"});
  return events;
}

/// Returns one event for skipped steps of consecutive lines, at the first of them.
std::vector<RunEvent> skip_events(const JoinedRun& run) {
  std::vector<RunEvent> events;
  double before = 0, together = 0;
  bool goes_on = false;
  for (const StepLine& line : run.steps) {
    const double skipped = line.of(Figure::skipped);
    if (!std::isfinite(skipped)) continue;
    const double more = skipped - before;
    before = skipped;
    if (more > 0) {
      together = goes_on ? together + more : more;
      if (!goes_on) events.push_back({line.at.step, ""});
      events.back().text = fmt::format("skipped {} step{}: gradients not finite", together,
                                       together == 1 ? "" : "s");
    }
    goes_on = more > 0;
  }
  return events;
}

}  // namespace

RunState state_of(const RunPart& newest, std::int64_t now) {
  if (!newest.summary.empty()) {
    const auto done = number_at(newest.summary, "steps"),
               all = number_at(newest.config, "train.steps");
    return done && all && *done < *all ? RunState::stopped : RunState::finished;
  }
  double pause = 0;
  const auto& steps = newest.steps;
  for (std::size_t i = steps.size() > 10 ? steps.size() - 10 : 1; i < steps.size(); ++i)
    pause = std::fmax(pause, steps[i].at.elapsed_s - steps[i - 1].at.elapsed_s);
  const double age = newest.changed ? static_cast<double>(now - *newest.changed) : 1e18;
  return age <= std::fmax(kStillRunning, 3 * pause) ? RunState::running : RunState::interrupted;
}

std::string state_text(RunState state, const RunPart& newest, const JoinedRun& run) {
  const std::string all = text_at(newest.config, "train.steps");
  const std::int64_t step = run.steps.empty() ? 0 : run.steps.back().at.step;
  const std::string place =
      all.empty() ? fmt::format("step {}", step) : fmt::format("step {} of {}", step, all);
  switch (state) {
    case RunState::finished:
      return "finished";
    case RunState::stopped:
      return "stopped at " + place;
    case RunState::running:
      return "running, at " + place;
    case RunState::interrupted:
      return "interrupted at " + place;
  }
  return {};
}

Facts result_facts(const RunPart& newest, const JoinedRun& run) {
  Facts facts;
  if (run.steps.empty()) return facts;
  const StepLine& last = run.steps.back();
  add_fact(facts, "Steps", fmt::format("{}", last.at.step));
  if (std::isfinite(last.at.tokens)) add_fact(facts, "Tokens", format_count(last.at.tokens));
  add_fact(
      facts, "Final loss",
      std::isfinite(last.of(Figure::loss)) ? with_digits(last.of(Figure::loss)) : "not finite");
  add_fact(facts, "Best validation loss", best_validation(run));
  const double rate = median_rate(run);
  if (std::isfinite(rate)) add_fact(facts, "Tokens/s", format_count(rate));
  if (const auto share = number_at(newest.summary, "peak_fraction"))
    add_fact(facts, "MFU", fmt::format("{:.1f} %", 100 * *share));
  if (std::isfinite(last.at.elapsed_s))
    add_fact(facts, "Training time", format_duration(last.at.elapsed_s));
  if (const auto bytes = number_at(newest.summary, "peak_memory_bytes"))
    add_fact(facts, "Peak memory per rank", format_bytes(static_cast<std::int64_t>(*bytes)));
  if (last.of(Figure::skipped) > 0)
    add_fact(facts, "Skipped steps", fmt::format("{}", last.of(Figure::skipped)));
  return facts;
}

Facts setup_facts(const std::vector<RunPart>& parts, const JoinedRun& run, RunState state) {
  const RunPart& newest = parts.back();
  Facts facts;
  add_fact(facts, "Model", model_text(newest));
  add_fact(facts, "Parameters", parameters_text(newest));
  add_fact(facts, "Type", text_at(newest.config, "precision.dtype"));
  add_fact(facts, "ZeRO stage", text_at(newest.config, "zero.stage"));
  add_fact(facts, "Offload", offload_text(newest));
  add_fact(facts, "Ranks", ranks_text(newest));
  const TextByKey& known = newest.start.contains("device") ? newest.start : newest.summary;
  add_fact(facts, "Device", text_at(known, "device"));
  add_fact(facts, "Started (UTC)", started_text(parts.front()));
  if (!run.resumes.empty()) add_fact(facts, "Last start (UTC)", started_text(newest));
  if (state != RunState::running && newest.changed)
    add_fact(facts, "Last line (UTC)", utc(*newest.changed));
  add_fact(facts, "Build", text_at(newest.start, "build"));
  return facts;
}

std::vector<RunEvent> events_of(const std::vector<RunPart>& parts, const JoinedRun& run) {
  std::vector<RunEvent> events;
  add_limited(events, resume_events(run), "starts");
  add_limited(events, loss_events(run), "losses that are not finite");
  add_limited(events, skip_events(run), "reports of skipped steps");
  std::ranges::stable_sort(events, {}, &RunEvent::step);
  for (const RunPart& part : parts) {
    const std::string folder = part.name.empty() ? "" : part.name + "/";
    const std::int64_t step = part.steps.empty() ? 0 : part.steps.back().at.step;
    if (part.bad.count > 0)
      events.push_back(
          {step, fmt::format("{} damaged line{} left out, the first at {}", part.bad.count,
                             part.bad.count == 1 ? "" : "s", part.bad.first)});
    if (part.bad.cut_end)
      events.push_back({step, fmt::format("the last line of {}metrics.jsonl is cut", folder)});
  }
  return events;
}

}  // namespace ds::report
