// Tests of the doctor's report: table, JSON and hostfile.
#include "launcher/doctor/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "unit/doctor/nodes.h"

using namespace ds::launcher;
using namespace ds::launcher::doctor;

namespace {

std::vector<NodeReport> mixed() {
  std::vector<NodeReport> nodes = good_cluster(4);
  nodes[1].facts.driver = "535.2";
  nodes[2] = {.name = "n3",
              .slots = 8,
              .result = {.kind = exec::NodeResult::Kind::unreachable, .reason = "n3: refused"}};
  return nodes;
}

}  // namespace

TEST_CASE("the table marks what differs, and says why below") {
  const std::vector<NodeReport> nodes = mixed();
  CHECK(report_text(nodes, check_nodes(nodes)) ==
        "3 nodes: dslaunch 1.0 (abc), Debian 12, Linux 6.1 x86_64, EPYC, 8 H100\n\n"
        "node  state    cores  memory free      GPUs  /dev/shm  files  locked     wdir free  /tmp "
        "free  "
        "clock  address\n"
        "n1    good     64     500 GiB/512 GiB  8     256 GiB   65536  unlimited  900 GiB    90 "
        "GiB     "
        "0      10.0.0.1\n"
        "n2    warning  64     500 GiB/512 GiB  8*    256 GiB   65536  unlimited  900 GiB    90 "
        "GiB     "
        "0      10.0.0.1\n"
        "n3    BAD      -      -                -     -         -      -          -          -     "
        "     "
        "-      -\n"
        "n4    good     64     500 GiB/512 GiB  8     256 GiB   65536  unlimited  900 GiB    90 "
        "GiB     "
        "0      10.0.0.1\n"
        "\nErrors:\n  n3: not reached: refused\n"
        "\nWarnings:\n  n2: GPU driver: 535.2; most have 550.1\n"
        "\n3 of 4 nodes can be used\n");
}

TEST_CASE("a star stands at the folder that a finding is about") {
  const auto row = [](auto change) {
    std::vector<NodeReport> nodes = good_cluster(1);
    change(nodes[0].facts.folders);
    const std::string table = table_text(nodes, check_nodes(nodes));
    return table.substr(table.find("\nn1 ") + 1);
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  CHECK(row([](auto&) {}).find('*') == std::string::npos);
  const std::string full_tmp = row([](auto& folders) { folders[1].free_bytes = kMiB; });
  CHECK(has(full_tmp, " 900 GiB    1 MiB*"));
  const std::string full_wdir = row([](auto& folders) { folders[0].free_bytes = kMiB; });
  CHECK(has(full_wdir, " 1 MiB*     90 GiB "));
  // A path of --path has no column of its own and counts with the working directory.
  const std::string no_path = row([](auto& folders) {
    folders.push_back({.path = "/data", .problem = "No such file or directory"});
  });
  CHECK(has(no_path, " 900 GiB*   90 GiB "));
}

TEST_CASE("many nodes that are alike share a line, with amounts from least to most") {
  std::vector<NodeReport> nodes = good_cluster(40);
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].address = "10.0.0." + std::to_string(i + 1);
    nodes[i].facts.memory_free = (490 + i % 3) * kGiB;
  }
  nodes[6].facts.driver = "535.2";
  nodes[7] = {.name = "n8",
              .slots = 8,
              .result = {.kind = exec::NodeResult::Kind::unreachable, .reason = "n8: refused"}};
  nodes[8] = nodes[7];
  nodes[8].name = "n9";
  const std::string text = report_text(nodes, check_nodes(nodes));
  const std::size_t from = text.find("\nnode ");
  const std::string table = text.substr(from, text.find("\n\n", from) - from);
  CHECK(std::count(table.begin(), table.end(), '\n') == 4);
  CHECK(table.find("\nn[1-6,10-40] (37)  good     64     490 GiB/512 GiB..492 GiB/512 GiB  8 ") !=
        std::string::npos);
  CHECK(table.find(" 10.0.0.[1-6,10-40]") != std::string::npos);
  CHECK(table.find("\nn7                 warning  64     490 GiB/512 GiB                   8* ") !=
        std::string::npos);
  CHECK(table.find("\nn[8-9] (2)         BAD      -  ") != std::string::npos);
}

TEST_CASE("a line of its own for each of few nodes, though they are alike") {
  const std::vector<NodeReport> nodes = good_cluster(static_cast<int>(kMostSingleLines));
  const std::string text = report_text(nodes, check_nodes(nodes));
  CHECK(text.find("\nn16 ") != std::string::npos);
}

TEST_CASE("when all is well the last line says so") {
  const std::vector<NodeReport> nodes = good_cluster(2);
  const std::string text = report_text(nodes, check_nodes(nodes));
  CHECK(text.ends_with("\n\nall 2 nodes can be used\n"));
  CHECK(text.find("Errors") == std::string::npos);
}

TEST_CASE("the JSON has every node with its findings and facts") {
  const std::vector<NodeReport> nodes = mixed();
  const auto json = nlohmann::json::parse(report_json(nodes, check_nodes(nodes)));
  CHECK(json["good"] == 3);
  CHECK(json["nodes"].size() == 4);
  CHECK(json["nodes"][0]["state"] == "good");
  CHECK(json["nodes"][0]["facts"]["cores"] == 64);
  CHECK(json["nodes"][1]["warnings"][0] == "GPU driver: 535.2; most have 550.1");
  CHECK(json["nodes"][2]["errors"][0] == "not reached: refused");
  CHECK_FALSE(json["nodes"][2].contains("facts"));
}

TEST_CASE("the good ones as a hostfile") {
  std::vector<Host> hosts(3);
  hosts[0].name = "n1";
  hosts[0].slots = 4;
  hosts[1].name = "n2";
  hosts[2].name = "fe80::1";
  hosts[2].user = "ann";
  hosts[2].port = 2222;
  CHECK(hostfile_text(hosts, {0, 2}) == "n1 slots=4\nann@[fe80::1] port=2222 slots=1\n");
  const std::string_view every =
      "a slots=2\nann@b port=22 addr=10.0.0.1 gpus=2,0 slots=2 max-slots=4\nc slots=auto\n";
  CHECK(hostfile_text(parse_hostfile(every, "x"), {0, 1, 2}) == every);
}

TEST_CASE("amounts have three digits") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1 KiB");
  CHECK(bytes_text(std::uint64_t{1536} << 30) == "1.5 TiB");
  CHECK(bytes_text(std::uint64_t{64} << 20) == "64 MiB");
  CHECK(seconds_text(1500) == "1.5 s");
  CHECK(seconds_text(600'000) == "10 min");
  CHECK(seconds_text(7'300'000) == "2.0 h");
}
