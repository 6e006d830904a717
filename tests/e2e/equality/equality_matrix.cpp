// Tests for equal bits after 20 steps, on random cells of the matrix or on all of it.
//
//   equality_matrix [--cells N] [--seed S]   N random cells, every second one interrupted and
//   resumed,
//                                            and the hard ones (runs in CI)
//   equality_matrix --only dtype=bf16,world=3,...   one cell; axes not named have their first
//   choice
//   ... --broken S                           that cell, interrupted into the parts of seed S
//   equality_matrix --resume [--table FILE]  every kind of resume (equality_resume_results.md)
//   equality_matrix --all [--table FILE]     every cell; FILE gets the table (equality_results.md)
//   equality_matrix --elastic [--cells N] [--seed S]   random cells in random histories of
//                                            memberships: crashes, pauses, nodes that leave and
//                                            join; 1 to 16 ranks
//   equality_matrix --elastic --table FILE [--cells N]   N histories for each stage, offload, dtype
//                                            and order (equality_elastic_results.md)
//   ... --only CELL --history S              that cell in the history of seed S
//   ... --backend cuda [--steps N]           on the plugin's device, with one rank
//   ... --backend cuda --epilogues fused     with the bits of fused epilogues
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>

#include "e2e/equality/resume_table.h"
#include "engine/base/error.h"

namespace {

using namespace ds;        // NOLINT: a test program
using namespace ds::test;  // NOLINT

// Cells most likely to break: everything that can be combined, at an odd world size. Always run.
constexpr const char* kHardCells[] = {
    "dtype=bf16,order=step,dropout=0.1,stage=3,offload=nvme,update=backward,tiles=small,"
    "activations=host,"
    "recompute=block,pieces=small,overlap=on,world=3,threads=2",
    "dtype=fp16,order=boundary,dropout=0.1,stage=2,offload=cpu,tiles=small,activations=host,"
    "recompute=selective,pieces=small,overlap=on,world=4,threads=1",
    // Without clipping an update during the backward pass is never undone, so it must be right.
    "dtype=fp32,order=boundary,clip=0,stage=0,offload=cpu,update=backward,overlap=off,world=2",
    "dtype=bf16,order=step,clip=0,stage=3,offload=nvme,update=backward,overlap=off,world=3",
    "model=llama,dtype=bf16,order=step,stage=3,offload=cpu,activations=host,recompute=block,"
    "pieces=small,overlap=on,world=3,threads=2",
    "model=llama,dtype=fp32,order=boundary,stage=1,recompute=selective,world=2,threads=2",
    "model=qwen3,dtype=bf16,order=step,stage=3,offload=cpu,recompute=selective,overlap=on,world=3,"
    "threads=2",
    "model=t5-lora,dtype=bf16,order=step,stage=3,offload=cpu,update=backward,recompute=block,"
    "world=3,threads=2",
    "model=bert-frozen,dtype=fp16,order=boundary,stage=2,offload=cpu,update=backward,world=4",
    "dtype=bf16,order=step,decay=some,stage=3,offload=cpu,tiles=small,share=half,device=apart,"
    "recompute=block,pieces=small,overlap=on,world=3,threads=2",
    "model=llama,dtype=fp32,order=boundary,decay=some,stage=1,offload=nvme,update=backward,"
    "tiles=small,world=4",
};

struct Options {
  int cells = 12;
  unsigned seed = 0;
  bool all = false, resume = false, elastic = false;
  std::optional<unsigned> broken, history;
  std::string only, table;
  Place place;
};

/// Returns how many of `count` histories of the cell have the bits of its undisturbed run.
int equal_histories(Matrix& matrix, const std::string& cell, int count, std::mt19937& random) {
  int equal = 0;
  for (int i = 0; i < count; ++i)
    equal += matrix.check_elastic(cell_of(cell), static_cast<unsigned>(random())) ? 1 : 0;
  return equal;
}

// Writes one row per stage and offload, one column per arithmetic.
void write_elastic_table(Matrix& matrix, const Options& options) {
  constexpr const char* kArithmetic[] = {"fp32,order=boundary", "fp32,order=step",
                                         "bf16,order=boundary", "bf16,order=step",
                                         "fp16,order=boundary", "fp16,order=step"};
  std::mt19937 random(options.seed);
  std::string head = "| stage, offload |", line = "|---|", body;
  for (const char* arithmetic : kArithmetic) {
    head += fmt::format(" {} |", arithmetic);
    line += "---|";
  }
  int equal = 0, all = 0;
  for (const char* stage : {"0", "1", "2", "3"}) {
    for (const char* offload : {"none", "cpu", "nvme"}) {
      body += fmt::format("| {}, {} |", stage, offload);
      for (const char* arithmetic : kArithmetic) {
        const std::string cell =
            fmt::format("dtype={},stage={},offload={}", arithmetic, stage, offload);
        const int same = equal_histories(matrix, cell, options.cells, random);
        body += fmt::format(" {} of {} |", same, options.cells);
        equal += same;
        all += options.cells;
      }
      body += "\n";
    }
  }
  matrix.check_other_virtual_ranks(cell_of(""));
  std::ofstream(options.table)
      << "# Equal bits through changes of membership\n\n"
      << fmt::format(
             "Made by `equality_matrix --elastic --cells {} --seed {} --table FILE`: {} steps of {}\n"
             "virtual ranks. Each history has 2 to 6 memberships of 1 to {} ranks, which end by a\n"
             "crash or a pause; at most one node leaves at a time, others join. One membership has\n"
             "the settings of its cell, the others have random ones. The table says in how many\n"
             "histories each step's loss and gradient norm and the weights are those of the\n"
             "undisturbed run, and every membership began from memory: {} of {}. The same job\n"
             "with half the virtual ranks has other losses.\n\n",
             options.cells, options.seed, options.place.steps, kMostRanks, kMostRanks, equal, all)
      << head << "\n" << line << "\n" << body;
}

// Every second cell is interrupted and resumes from its saves.
void check_random(Matrix& matrix, const Options& options) {
  fmt::print("--cells {} --seed {}\n", options.cells, options.seed);
  std::mt19937 random(options.seed);
  for (const char* hard : kHardCells) matrix.check(cell_of(hard));
  for (int i = 0; i < options.cells; ++i) {
    Cell cell;
    for (const Axis& axis : axes()) cell.push_back(random() % axis.choices.size());
    if (i % 2 == 0 && options.place.steps > 1) {
      matrix.check_broken(cell, static_cast<unsigned>(random()));
    } else {
      matrix.check(cell);
    }
  }
}

void check_elastic(Matrix& matrix, const Options& options) {
  if (options.history) {
    matrix.check_elastic(cell_of(options.only), *options.history);
    return;
  }
  if (!options.table.empty()) return write_elastic_table(matrix, options);
  fmt::print("--elastic --cells {} --seed {}\n", options.cells, options.seed);
  std::mt19937 random(options.seed);
  Cell cell;
  for (int i = 0; i < options.cells; ++i) {
    cell.clear();
    for (const Axis& axis : axes()) cell.push_back(random() % axis.choices.size());
    matrix.check_elastic(cell, static_cast<unsigned>(random()));
  }
  matrix.check_other_virtual_ranks(cell);
}

// Writes one row per arithmetic and one column per choice of each other axis.
void write_table(const Matrix& matrix, const std::vector<Cell>& cells, const Options& options) {
  std::ofstream file(options.table);
  file << "# Equal bits: the whole matrix\n\n"
       << fmt::format(
              "Made by `equality_matrix --all --seed {} --table FILE`: {} runs of {} steps with\n"
              "accumulation, {} virtual ranks, a tied head, dropout and clipping. A row is one\n"
              "arithmetic with its weights_hash; a column says how many of the runs with that\n"
              "setting have this hash. {} runs differ.\n",
              options.seed, cells.size(), options.place.steps, kVirtualRanks,
              matrix.failed_cells().size());
  for (std::size_t a = 0; a < axes().size(); ++a) {
    const Axis& axis = axes()[a];
    if (axis.kind == Axis::Kind::arithmetic) continue;
    file << fmt::format("\n| arithmetic | weights_hash |");
    for (const Choice& choice : axis.choices)
      file << fmt::format(" {} {} |", axis.name, choice.name);
    file << "\n|---|---|";
    for (std::size_t c = 0; c < axis.choices.size(); ++c) file << "---|";
    file << "\n";
    for (const auto& [reference, hash] : matrix.references()) {
      std::string arithmetic;
      for (std::size_t b = 0; b < axes().size(); ++b) {
        if (axes()[b].kind == Axis::Kind::arithmetic)
          arithmetic += fmt::format("{} ", axes()[b].choices[reference[b]].name);
      }
      file << fmt::format("| {}| {} |", arithmetic, hash);
      for (std::size_t c = 0; c < axis.choices.size(); ++c) {
        const auto belongs = [&, a = a, c = c](const Cell& cell) {
          return cell[a] == c && reference_of(cell) == reference;
        };
        const auto all = std::count_if(cells.begin(), cells.end(), belongs);
        const auto bad =
            std::count_if(matrix.failed_cells().begin(), matrix.failed_cells().end(), belongs);
        file << fmt::format(" {} of {} |", all - bad, all);
      }
      file << "\n";
    }
  }
}

Options parse(int argc, char** argv) {
  Options options;
  options.seed = std::random_device()();
  const auto next = [&](int& i) -> std::string {
    if (i + 1 >= argc) throw Error(ErrorKind::usage, fmt::format("{} needs a value", argv[i]));
    return argv[++i];
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--cells") {
      options.cells = std::stoi(next(i));
    } else if (option == "--seed") {
      options.seed = static_cast<unsigned>(std::stoul(next(i)));
    } else if (option == "--only") {
      options.only = next(i);
    } else if (option == "--table") {
      options.table = next(i);
    } else if (option == "--backend") {
      const std::string backend = next(i);
      options.place.accelerator = backend == "cuda";
      if (backend != "cuda" && backend != "cpu")
        throw Error(ErrorKind::usage, fmt::format("no backend {}: cpu or cuda", backend));
    } else if (option == "--epilogues") {
      const std::string epilogues = next(i);
      options.place.fused_epilogues = epilogues == "fused";
      if (epilogues != "fused" && epilogues != "exact")
        throw Error(ErrorKind::usage, fmt::format("no epilogues {}: exact or fused", epilogues));
    } else if (option == "--steps") {
      options.place.steps = std::stoi(next(i));
    } else if (option == "--all") {
      options.all = true;
    } else if (option == "--resume") {
      options.resume = true;
    } else if (option == "--elastic") {
      options.elastic = true;
    } else if (option == "--history") {
      options.history = static_cast<unsigned>(std::stoul(next(i)));
      options.elastic = true;
    } else if (option == "--broken") {
      options.broken = static_cast<unsigned>(std::stoul(next(i)));
    } else {
      throw Error(ErrorKind::usage, fmt::format("unknown option {}", option));
    }
  }
  if ((options.broken || options.history) && options.only.empty())
    throw Error(ErrorKind::usage, "--broken and --history want --only");
  if (options.place.fused_epilogues && !options.place.accelerator)
    throw Error(ErrorKind::usage, "--epilogues fused needs --backend cuda");
  return options;
}

int run(const Options& options) {
  Matrix matrix(options.place);
  if (options.resume) {
    check_resume(matrix, options.place, options.table);
    matrix.check_references();
    return matrix.report();
  }
  if (options.elastic) {
    check_elastic(matrix, options);
    return matrix.report();
  }
  const std::vector<Cell> cells = options.all ? all_cells(options.seed) : std::vector<Cell>();
  for (const Cell& cell : cells) matrix.check(cell);
  if (options.broken) {
    matrix.check_broken(cell_of(options.only), *options.broken);
  } else if (!options.only.empty()) {
    matrix.check(cell_of(options.only));
  } else if (!options.all) {
    check_random(matrix, options);
  }
  matrix.check_references();
  if (!options.table.empty()) write_table(matrix, cells, options);
  return matrix.report();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const Error& error) {
    fmt::print(stderr, "equality_matrix: {}\n", error.for_people());
    return 64;
  }
}
