// Tests of the ledger of samples: its lines, and the repair of a file that a killed rank left.
#include "engine/monitor/sample_ledger.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/monitor/run_folder.h"

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "ledgerXXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<ds::TakenSample> kTaken{{2, 0, 20, 700}, {2, 0, 21, 5}, {3, 0, 22, 64},
                                          {3, 0, 23, 9},   {2, 1, 28, 3}, {2, 1, 29, 4}};

}  // namespace

TEST_CASE("a line has one member per micro-batch, in the order in which they ran") {
  std::string text = "what was there";
  ds::ledger_line(41, 0, kTaken, text);
  CHECK(text.back() == '\n');
  const auto line = nlohmann::json::parse(text);
  CHECK(line["step"] == 41);
  REQUIRE(line["taken"].size() == 3);
  const auto& last = line["taken"][2];
  CHECK(last["virtual_rank"] == 2);
  CHECK(last["micro_step"] == 1);
  CHECK(last["samples"] == std::vector<int>{28, 29});
  CHECK(last["offsets"] == std::vector<int>{3, 4});
  CHECK(line["taken"][1]["samples"] == std::vector<int>{22, 23});
  ds::ledger_line(42, 3, {}, text);
  CHECK(text == "{\"step\":42,\"epoch\":3,\"taken\":[]}\n");
  ds::ledger_line(1, 0, {}, text);  // a rank without a virtual rank
  CHECK(text == "{\"step\":1,\"taken\":[]}\n");
}

TEST_CASE("lines are appended; half a line of a killed rank is cut off") {
  const Folder folder;
  const std::string path = folder / "deep/samples-rank0003.jsonl";
  { ds::SampleLedger(folder / "deep", 3).write(1, {}); }
  std::ofstream(path, std::ios::app) << std::string(9000, 'x');
  {
    ds::SampleLedger ledger(folder / "deep", 3);
    ledger.write(2, {});
    ledger.write(3, {});
  }
  CHECK(text_of(path) ==
        "{\"step\":1,\"taken\":[]}\n{\"step\":2,\"taken\":[]}\n{\"step\":3,\"taken\":[]}\n");
  std::ofstream(path) << "no end";
  { const ds::SampleLedger ledger(folder / "deep", 3); }
  CHECK(text_of(path).empty());
}

TEST_CASE("ledgers of an earlier run move to previous-N with its other files") {
  const Folder folder;
  ds::TrainConfig config;
  config.log.dir = folder / "run";
  (void)ds::RunFolder::create(config, "tiny");
  for (const char* name : {"samples-rank0000.jsonl", "samples-rank12345.jsonl",
                           "samples-rank.jsonl", "samples-rank0000.jsonl.gz"})
    std::ofstream(folder / "run/" + name) << name;
  (void)ds::RunFolder::create(config, "tiny");
  CHECK(text_of(folder / "run/previous-1/samples-rank12345.jsonl") == "samples-rank12345.jsonl");
  CHECK(fs::exists(folder / "run/previous-1/samples-rank0000.jsonl"));
  CHECK_FALSE(fs::exists(folder / "run/samples-rank0000.jsonl"));
  CHECK(fs::exists(folder / "run/samples-rank.jsonl"));
  CHECK(fs::exists(folder / "run/samples-rank0000.jsonl.gz"));
}

TEST_CASE("the error of a ledger that cannot be written names it") {
  const Folder folder;
  std::ofstream(folder / "file") << "x";
  try {
    const ds::SampleLedger ledger(folder / "file/run", 7);
    FAIL("no error");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::system);
    CHECK(std::string(error.what()).find("file/run: Not a directory") != std::string::npos);
  }
}
