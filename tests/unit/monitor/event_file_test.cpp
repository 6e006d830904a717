// Tests of event files: the bytes of known records, files that are cut, full disks, and resumes.
#include "engine/monitor/event_file.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/error.h"
#include "engine/monitor/crc32c.h"
#include "engine/monitor/figure_files.h"
#include "support/event_records.h"
#include "support/hex.h"

using ds::test::EventFacts;

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "eventsXXXXXX";
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
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

/// Reads all event files of a folder in the order of their names, as TensorBoard does.
EventFacts facts_of(const std::string& folder) {
  EventFacts facts;
  for (const std::string& path : files_in(folder)) ds::test::read_events(text_of(path), facts);
  CHECK(facts.is_sound);
  return facts;
}

using Points = std::vector<std::pair<std::int64_t, double>>;

/// Files of this process cannot grow beyond `bytes` while it lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("CRC-32C has the values of RFC 3720, appendix B.4") {
  CHECK(ds::crc32c(std::string(32, '\0')) == 0x8A9136AA);
  CHECK(ds::crc32c(std::string(32, '\xFF')) == 0x62A8AB43);
  CHECK(ds::crc32c("123456789") == 0xE3069283);
}

// Written by tensorboard 2.21: RecordWriter and event_pb2.
TEST_CASE("records have the bytes that TensorBoard's own writer makes") {
  std::string version, start, scalars;
  ds::add_version(version, 1.5);
  CHECK(version ==
        ds::test::from_hex("1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e457"
                           "6656e743a322a28646c"));
  ds::add_start(start, 1.5, 301);
  CHECK(start == ds::test::from_hex("100000000000000095fbfe1809000000000000f83f10ad023a020801d17949"
                                    "d4"));
  const ds::Scalar both[] = {{"train/loss", 2.5}, {"a", -1}};
  ds::add_scalars(scalars, 1.5, 300, both);
  CHECK(scalars == ds::test::from_hex(
                       "2b00000000000000861bc34b09000000000000f83f10ac022a1d0a110a0a747261696e2f"
                       "6c6f737315000020400a080a016115000080bf8fbbd27f"));
  std::string framed;
  ds::add_frame(framed, std::string_view(scalars).substr(12, scalars.size() - 16));
  CHECK(framed == scalars);
}

TEST_CASE("a file that is cut at any byte is readable up to the cut") {
  std::string text;
  std::vector<std::size_t> ends;
  const auto ended = [&] { ends.push_back(text.size()); };
  ds::add_version(text, 1);
  ended();
  ds::add_start(text, 1, 1);
  ended();
  for (int step = 1; step <= 3; ++step) {
    const ds::Scalar loss[] = {{"train/loss", 1.0 / step}, {"train/lr", 1e-3}};
    ds::add_scalars(text, 1, step, loss);
    ended();
  }
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EventFacts facts;
    ds::test::read_events(std::string_view(text).substr(0, cut), facts);
    const auto whole = std::ranges::count_if(ends, [&](std::size_t end) { return end <= cut; });
    REQUIRE(facts.is_sound);
    REQUIRE(facts.records == whole);
  }
  for (std::size_t byte = 0; byte < text.size(); ++byte) {  // the reader of this test can fail
    std::string bad = text;
    bad[byte] = static_cast<char>(bad[byte] ^ 1);
    EventFacts facts;
    ds::test::read_events(bad, facts);
    REQUIRE((!facts.is_sound || !facts.ends_whole));
  }
}

TEST_CASE("a newer file sorts behind the older ones, whatever the clock says") {
  const Folder folder;
  const std::string first = ds::event_file_name(folder / "", 2000);
  CHECK(first.starts_with("events.out.tfevents.0000002000."));
  std::ofstream(folder / first) << "x";
  std::ofstream(folder / "events.out.tfevents.broken") << "x";
  for (const std::int64_t now : {2000, 100})
    CHECK(ds::event_file_name(folder / "", now).starts_with("events.out.tfevents.0000002001."));
  CHECK(ds::event_file_name(folder / "", 5000).starts_with("events.out.tfevents.0000005000."));
}

TEST_CASE("a resume drops the later points of both kinds of curves, and only those") {
  const Folder folder;
  ds::TrainConfig config;
  config.log.tensorboard = {.on = true};
  config.precision.dtype = ds::Precision::fp16;
  std::vector<std::string> told;
  const auto run = [&](std::int64_t from, std::int64_t to, double loss) {
    ds::FigureFiles files(config, folder / "run",
                          [&](const std::string& line) { told.push_back(line); });
    files.begin(from, 8 * from);
    for (std::int64_t step = from + 1; step <= to; ++step)
      files.step({.step = step, .loss = loss, .has_phases = true, .slowest = 3}, 8 * step);
    files.validation(to, "", loss, 1);
    files.validation(to, "web", 2 * loss, 1);
    files.saved({.step = to, .bytes = 5});
  };
  run(0, 6, 1);
  run(4, 7, 2);
  const EventFacts steps = facts_of(folder / "run/tensorboard");
  CHECK(steps.version == "brain.Event:2");
  CHECK(steps.start == 5);
  CHECK(steps.points.at("train/loss") ==
        Points{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 2}, {6, 2}, {7, 2}});
  CHECK(steps.points.at("phases/slowest_rank").back() == std::pair<std::int64_t, double>{7, 3});
  CHECK(steps.points.contains("phases/forward"));
  CHECK(steps.points.at("validation/loss") == Points{{7, 2}});
  CHECK(steps.points.at("validation/loss/web") == Points{{7, 4}});
  CHECK(steps.points.at("checkpoint/bytes") == Points{{7, 5}});
  const EventFacts samples = facts_of(folder / "run/tensorboard/samples");
  CHECK(samples.points.at("Train/Samples/train_loss") ==
        Points{{8, 1}, {16, 1}, {24, 1}, {32, 1}, {40, 2}, {48, 2}, {56, 2}});
  CHECK(samples.points.at("Train/Samples/lr").size() == 7);
  CHECK(samples.points.at("Train/Samples/loss_scale").size() == 7);
  CHECK(told.empty());
}

TEST_CASE("a full disk is told once, loses whole records, and recording continues behind it") {
  const Folder folder;
  ds::TrainConfig config;
  config.log.tensorboard = {.on = true, .dir = folder / "tb"};
  config.log.csv = {.on = true, .dir = folder / "csv"};
  std::vector<std::string> told;
  ds::FigureFiles files(config, folder / "run",
                        [&](const std::string& line) { told.push_back(line); });
  files.begin(0, 0);
  const auto step = [&](std::int64_t number) {
    files.step({.step = number, .loss = 0.5, .has_phases = true}, number);
  };
  step(1);
  step(2);
  {
    const std::string file = files_in(folder / "tb").front();
    const FullDisk full(fs::file_size(file) + 20);
    for (int i = 3; i < 30; ++i) step(i);
  }
  step(30);
  REQUIRE(told.size() == 2);
  for (const char* part : {"warning: ", "training continues"})
    for (const std::string& line : told) CHECK(line.find(part) != std::string::npos);
  const EventFacts facts = facts_of(folder / "tb");
  CHECK(facts.ends_whole);
  CHECK(facts.points.at("train/loss") == Points{{1, 0.5}, {2, 0.5}, {30, 0.5}});
  const std::string csv = text_of(folder / "csv/metrics.csv");
  CHECK(csv.ends_with("\r\n"));
  CHECK(csv.find("\r\n30,0.5,") != std::string::npos);
  for (std::size_t at = 0; at < csv.size(); at = csv.find("\r\n", at) + 2) {
    const std::string line = csv.substr(at, csv.find("\r\n", at) - at);
    CHECK(std::ranges::count(line, ',') == 9 + 1 + static_cast<int>(ds::kStepPhases));
  }
}

TEST_CASE("a folder that cannot be created is an error that names the key") {
  const Folder folder;
  std::ofstream(folder / "file") << "x";
  ds::TrainConfig config;
  config.log.tensorboard = {.on = true, .dir = folder / "file/tb"};
  try {
    const ds::FigureFiles files(config, folder / "run", {});
    FAIL("no error");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    CHECK(std::string(error.what()).starts_with("log.tensorboard: "));
  }
}
