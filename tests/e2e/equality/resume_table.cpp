// Table of resumes: each kind is a column, each arithmetic a row.
#include "e2e/equality/resume_table.h"

#include <fmt/format.h>

#include <fstream>

namespace ds::test {
namespace {

constexpr const char* kArithmetic[] = {
    "dtype=fp32,order=boundary", "dtype=fp32,order=step",     "dtype=bf16,order=boundary",
    "dtype=bf16,order=step",     "dtype=fp16,order=boundary", "dtype=fp16,order=step",
};

/// The settings of the parts besides the arithmetic, in order.
struct Way {
  std::string name;
  std::vector<std::string> parts;
};

struct Section {
  std::string title;
  std::vector<Way> ways;
  std::string only{};  // only arithmetic whose name begins so
};

std::vector<std::string> choices(std::string_view axis) {
  std::vector<std::string> names;
  for (const Axis& each : axes()) {
    if (each.name != axis) continue;
    for (const Choice& choice : each.choices)
      names.push_back(fmt::format("{}={}", axis, choice.name));
  }
  return names;
}

std::string value_of(const std::string& choice) { return choice.substr(choice.find('=') + 1); }

/// Returns the ways from each choice of an axis to each other one.
Section between(const std::string& title, std::string_view axis, const std::string& always) {
  Section section{title, {}};
  for (const std::string& from : choices(axis)) {
    for (const std::string& to : choices(axis)) {
      if (from == to) continue;
      section.ways.push_back(
          {fmt::format("{} -> {}", value_of(from), value_of(to)), {from + always, to + always}});
    }
  }
  return section;
}

std::vector<Section> sections() {
  Section same{"The same stage and offload in both halves (2 ranks)", {}};
  for (const std::string& stage : choices("stage")) {
    for (const std::string& offload : choices("offload")) {
      const std::string cell = fmt::format("{},{},world=2", stage, offload);
      same.ways.push_back({fmt::format("{} {}", value_of(stage), value_of(offload)), {cell, cell}});
    }
  }
  Section worlds{"Other world sizes", {}};
  for (const char* more :
       {"stage=3,offload=nvme,", "stage=1,offload=none,", "stage=0,offload=cpu,"}) {
    Way chain{fmt::format("{}4 -> 2 -> 1 -> 4 ranks", more), {}};
    for (const int world : {4, 2, 1, 4})
      chain.parts.push_back(fmt::format("{}world={}", more, world));
    worlds.ways.push_back(chain);
  }
  worlds.ways.push_back(
      {"stage=3,offload=nvme -> stage=1,offload=none, 3 -> 4 ranks",
       {"stage=3,offload=nvme,world=3,overlap=on", "stage=1,offload=none,world=4"}});
  Section masters = between("Another form of the master", "master", ",stage=2,world=2");
  masters.only = "dtype=bf16";  // other types have one form
  return {same,
          between("Another stage (3 ranks)", "stage", ",offload=none,world=3"),
          between("Another place of the states (stage 3, 2 ranks)", "offload", ",stage=3,world=2"),
          between("Another time of the update (stage 1, states on the host)", "update",
                  ",stage=1,offload=cpu,world=2"),
          masters,
          worlds};
}

Parts parts_of(const Way& way, const char* arithmetic, const Place& place, int lost) {
  Parts parts;
  const int count = static_cast<int>(way.parts.size());
  for (int i = 0; i < count; ++i) {
    const std::string& part = way.parts[static_cast<std::size_t>(i)];
    parts.push_back({.cell = cell_of(fmt::format("{},{}", arithmetic, part)),
                     .last = place.steps * (i + 1) / count,
                     .lost = i + 1 < count ? lost : 0});
  }
  return parts;
}

class Table {
 public:
  explicit Table(const std::string& path) {
    if (!path.empty()) file_.open(path);
  }
  void text(const std::string& text) {
    if (file_.is_open()) file_ << text;
  }

 private:
  std::ofstream file_;
};

}  // namespace

void check_resume(Matrix& matrix, const Place& place, const std::string& path) {
  Table table(path);
  table.text(fmt::format(
      "# Equal bits over resuming\n\n"
      "Made by `equality_matrix --resume --steps {} --table FILE`. A run of {} steps is broken in\n"
      "halves (quarters where four world sizes stand); each part has ranks of its own, which take\n"
      "all they know from the checkpoint of the part before. \"same\": twice, once with training\n"
      "waiting for the save and once with a save beside two steps more that are then lost, the\n"
      "weights_hash was that of the unbroken run by one rank at stage 0.\n",
      place.steps, place.steps));
  for (const Section& section : sections()) {
    table.text(fmt::format("\n## {}\n\n| arithmetic | weights_hash |", section.title));
    for (const Way& way : section.ways) table.text(fmt::format(" {} |", way.name));
    table.text("\n|---|---|");
    for (std::size_t i = 0; i < section.ways.size(); ++i) table.text("---|");
    table.text("\n");
    for (const char* arithmetic : kArithmetic) {
      if (!std::string_view(arithmetic).starts_with(section.only)) continue;
      std::string row;
      for (const Way& way : section.ways) {
        bool same = true;
        for (const int lost : {0, 2}) {
          const Parts parts = parts_of(way, arithmetic, place, lost);
          same &= matrix.check_parts(parts, fmt::format("--resume {} {}", arithmetic, way.name));
        }
        row += same ? " same |" : " **differs** |";
      }
      const std::string& hash = matrix.references().at(reference_of(cell_of(arithmetic)));
      table.text(fmt::format("| {} | {} |{}\n", arithmetic, hash, row));
    }
  }
}

}  // namespace ds::test
