// Campaign of kills and file faults: checkpoint_campaign DSRUNNER DSLAUNCH PRELOAD KILLS SEED
// [TABLE] trains small jobs that are killed and whose files fail at random. Each job is restarted
// from what is left until it reaches its last step, and new jobs follow until KILLS kills were
// made. After every trial there must be a complete checkpoint that is new enough, has the right
// bits and is the one from which the next trial resumes. Prints one line per trial and the tables
// (to TABLE too). Exit code 0: nothing was wrong.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "e2e/checkpoint/draw_trial.h"
#include "e2e/checkpoint/judge.h"
#include "e2e/checkpoint/tally.h"

namespace {

using namespace ds::test;
namespace fs = std::filesystem;

constexpr int kLongestChain = 10;  // then a trial without faults ends the chain

class Campaign {
 public:
  Campaign(Programs programs, fs::path folder, std::uint64_t seed)
      : programs_(std::move(programs)), folder_(std::move(folder)), random_(seed) {
    write_job(folder_);
  }

  /// Runs one training to its last step, over as many trials as it takes.
  void chain() {
    const Arithmetic& arithmetic = arithmetics()[random_() % arithmetics().size()];
    const Reference& reference = reference_of(arithmetic);
    fs::remove_all(folder_ / "saves");
    spoiled_.clear();
    last_world_ = 0;
    for (int length = 1; !trial(arithmetic, reference, length) && length < kLongestChain + 3;)
      ++length;
  }

  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  const Reference& reference_of(const Arithmetic& arithmetic) {
    Reference& reference = references_[arithmetic.name];
    if (!reference.content.empty()) return reference;
    std::mt19937_64 fixed(1);
    DrawnTrial drawn = draw_trial(folder_, arithmetic, std::nullopt, fixed);
    drawn.spec.launched = false;
    drawn.spec.world = 1;
    drawn.spec.saves = folder_ / "reference";
    drawn.spec.words = {(folder_ / "train.toml").string(),
                        fmt::format("log.dir={}", (drawn.spec.folder / "run").string()),
                        fmt::format("checkpoint.dir={}", drawn.spec.saves.string()),
                        "checkpoint.every=1",
                        "checkpoint.keep=0",
                        "checkpoint.async=false"};
    drawn.spec.words.insert(drawn.spec.words.end(), arithmetic.keys.begin(), arithmetic.keys.end());
    fs::remove_all(drawn.spec.saves);
    const TrialEnd end = run_trial(programs_, drawn.spec);
    for (const SavedStep& saved : saved_steps(drawn.spec.saves))
      if (saved.good()) reference.content[saved.step] = saved.content;
    reference.weights_hash = summary_hash(drawn.spec.folder);
    if (reference.content.size() != kSteps || !end.ended_well()) {
      fmt::print("the reference run ({}) failed:\n", arithmetic.name);
      for (const std::string& line : end.lines) fmt::print("  {}\n", line);
      std::exit(1);
    }
    return reference;
  }

  /// Runs one trial. Returns whether the training is complete.
  bool trial(const Arithmetic& arithmetic, const Reference& reference, int length) {
    auto steps = saved_steps(folder_ / "saves");
    const std::string harmed = harm_sometimes(folder_ / "saves", steps);
    const Found found = found_in(steps);
    const bool quiet = length > kLongestChain || random_() % 20 == 0;
    const DrawnTrial drawn = draw_trial(
        folder_, arithmetic, quiet ? std::nullopt : std::optional(found.newest_good), random_);
    const auto begin = std::chrono::steady_clock::now();
    const TrialEnd end = run_trial(programs_, drawn.spec);
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
    const Judgement judgement = judge(drawn, end, found, reference, spoiled_);
    const bool other_world = last_world_ != 0 && last_world_ != drawn.spec.world;
    tally_.add(drawn, judgement, found, !harmed.empty() && !found.newer_bad.empty(), other_world);
    if (!judgement.said.saved.empty()) last_world_ = drawn.spec.world;
    print(arithmetic, drawn, found, harmed, end, judgement, took.count());
    return judgement.ended_well || found.is_refused() || !judgement.wrong.empty();
  }

  /// Damages the newest checkpoint at random, mostly if an older one is good too.
  std::string harm_sometimes(const fs::path& saves, std::vector<SavedStep>& steps) {
    const auto good = std::ranges::count_if(steps, &SavedStep::good);
    if (good == 0 || !steps.front().good() || random_() % 4 != 0) return "";
    if (good == 1 && random_() % 4 != 0) return "";
    std::string what = harm(saves / steps.front().name, random_);
    spoiled_.insert(steps.front().step);
    steps = saved_steps(saves);
    return what;
  }

  void print(const Arithmetic& arithmetic, const DrawnTrial& drawn, const Found& found,
             const std::string& harmed, const TrialEnd& end, const Judgement& judgement,
             double seconds) {
    std::string happened;
    if (!harmed.empty()) happened += fmt::format("; before: {}", harmed);
    for (const std::string& fault : judgement.faults) happened += "; " + fault;
    if (!judgement.killed.empty())
      happened += fmt::format("; killed {} ({})", judgement.killed, judgement.during);
    fmt::print("{:5} {} {}: {} -> {} steps, left {}, {:.2f} s{}\n", tally_.trials(),
               arithmetic.name, drawn.shape, found.newest_good, judgement.said.last_step,
               judgement.left.empty() ? "none" : judgement.left.front().name, seconds, happened);
    for (const std::string& wrong : judgement.wrong) fmt::print("      BAD: {}\n", wrong);
    if (!judgement.wrong.empty()) keep(drawn, end);
    std::fflush(stdout);
  }

  /// Keeps what is needed to understand a bad trial.
  void keep(const DrawnTrial& drawn, const TrialEnd& end) {
    std::string command;
    for (const std::string& word : drawn.spec.words) command += " '" + word + "'";
    fmt::print("      {}\n", command);
    for (const FileFault& fault : drawn.spec.faults)
      fmt::print("      fault {}\n", file_fault_text(fault));
    const std::size_t first = end.lines.size() > 12 ? end.lines.size() - 12 : 0;
    for (std::size_t i = first; i < end.lines.size(); ++i) fmt::print("      | {}\n", end.lines[i]);
    if (std::getenv("DS_CAMPAIGN_KEEP") == nullptr) return;
    const fs::path to =
        fs::path(std::getenv("DS_CAMPAIGN_KEEP")) / fmt::format("{}", tally_.trials());
    fs::create_directories(to);
    fs::copy(drawn.spec.folder, to / "trial", fs::copy_options::recursive);
    if (fs::exists(drawn.spec.saves))
      fs::copy(drawn.spec.saves, to / "saves", fs::copy_options::recursive);
  }

  Programs programs_;
  fs::path folder_;
  std::mt19937_64 random_;
  std::map<std::string, Reference> references_;
  std::set<std::int64_t> spoiled_;
  int last_world_ = 0;
  Tally tally_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) {
    fmt::print(stderr, "usage: checkpoint_campaign DSRUNNER DSLAUNCH PRELOAD KILLS SEED [TABLE]\n");
    return 64;
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  fmt::print("skip: LD_PRELOAD does not work with a sanitizer, which must be the first library\n");
  return 77;
#endif
  const int kills = std::stoi(argv[4]);
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("checkpoint-campaign-{}", ::getpid());
  const auto begin = std::chrono::steady_clock::now();
  Campaign campaign({.dsrunner = argv[1], .dslaunch = argv[2], .preload = argv[3]}, folder,
                    std::stoull(argv[5]));
  while (campaign.tally().kills() < kills) campaign.chain();
  const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::string text = fmt::format("Seed {}, {:.0f} s. ", argv[5], took) + campaign.tally().text();
  fmt::print("\n{}", text);
  if (argc == 7) std::ofstream(argv[6]) << text;
  fs::remove_all(folder);
  return campaign.tally().bad() == 0 && campaign.tally().kills() > 0 ? 0 : 1;
}
