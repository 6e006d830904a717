// Tests of the output options: values, and messages for invalid ones.
#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "launcher/cli/options.h"

using namespace ds::launcher;

namespace {

LogPolicy parse(std::vector<const char*> args) {
  args.insert(args.begin(), "dslaunch");
  args.insert(args.end(), {"--", "true"});
  return parse_args(static_cast<int>(args.size()), args.data()).logs.policy;
}

std::string error_of(const std::vector<const char*>& args) {
  try {
    parse(args);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return error.for_people();
  }
  return "none";
}

std::string rendered(const LogPolicy& policy) {
  const RankName name{.rank = 3, .node = "n1"};
  const RankName* one = &name;
  return policy.prefix.value().render({&one, 1}, 1, {});
}

}  // namespace

TEST_CASE("defaults of output") {
  const LogPolicy policy = parse({});
  CHECK_FALSE(policy.prefix);
  CHECK(policy.show.resolve(2) == std::vector<std::uint8_t>{3, 3});
  CHECK_FALSE(policy.fold);
  CHECK_FALSE(policy.timestamps);
  CHECK(policy.colour == ColourChoice::automatic);
  CHECK(policy.folder.empty());
  CHECK(policy.backpressure == Backpressure::automatic);
  CHECK_FALSE(policy.spool_bytes);
  CHECK(policy.input.kind == StdinChoice::Kind::none);
  CHECK_FALSE(policy.pty);
}

TEST_CASE("every option of output is read") {
  const LogPolicy policy =
      parse({"--prefix", "{node}/{rank}: ", "--show", "0,err", "--fold", "--timestamps", "--color",
             "never", "--log-dir", "node:/tmp/{job}", "--backpressure", "block", "--spool", "2G",
             "--stdin", "3", "--pty"});
  CHECK(rendered(policy) == "n1/3: ");
  CHECK(policy.show.resolve(2) == std::vector<std::uint8_t>{3, 2});
  CHECK(policy.fold);
  CHECK(policy.timestamps);
  CHECK(policy.colour == ColourChoice::never);
  CHECK(policy.folder == "/tmp/{job}");
  CHECK(policy.folder_on_nodes);
  CHECK(policy.backpressure == Backpressure::block);
  CHECK(policy.spool_bytes == std::uint64_t{2} << 30);
  CHECK(policy.input.kind == StdinChoice::Kind::one);
  CHECK(policy.input.rank == 3);
  CHECK(policy.pty);
  CHECK(parse({"--stdin", "all"}).input.kind == StdinChoice::Kind::all);
  CHECK(parse({"--stdin", "none"}).input.kind == StdinChoice::Kind::none);
  CHECK(parse({"--log-dir", "logs"}).folder == "logs");
  CHECK_FALSE(parse({"--log-dir", "logs"}).folder_on_nodes);
  CHECK(parse({"--spool", "1000"}).spool_bytes == 1000);
  CHECK(parse({"--log_dir=logs"}).folder == "logs");
}

TEST_CASE("no prefix at all") { CHECK(rendered(parse({"--prefix", ""})).empty()); }

TEST_CASE("nonsense is answered with the accepted form") {
  CHECK(error_of({"--prefix", "{rnk}"}) ==
        "--prefix '{rnk}': unknown field {rnk}\n  hint: did you mean {rank}? known: {rank} "
        "{local_rank} {node} {node_rank} {host} {group} {stream} {time} {elapsed}");
  CHECK(error_of({"--show", "0,x"}).find("--show '0,x': 'x' is not a rank\n  hint: ranks (0)") ==
        0);
  CHECK(error_of({"--color", "red"}) ==
        "--color cannot be 'red'\n  hint: choose one of: auto, always, never");
  CHECK(error_of({"--log-dir", "node:"}) ==
        "--log-dir 'node:' does not name a folder\n  hint: use DIR for a folder on this machine, "
        "node:DIR for one on each node");
  CHECK(error_of({"--backpressure", "no"}) ==
        "--backpressure cannot be 'no'\n  hint: choose one of: auto, block, spool, drop");
  for (const char* who : {"", "x", "-1", "0,1", "all,0"})
    CHECK(error_of({"--stdin", who}) == "--stdin must be none, all or a rank, not '" +
                                            std::string(who) + "'\n  hint: see dslaunch --help");
  for (const char* size : {"", "x", "-1", "1T", "1 G", "99999999999G", "1.5G"}) {
    CAPTURE(size);
    CHECK(error_of({"--spool", size}) ==
          "--spool must be a size, not '" + std::string(size) +
              "'\n  hint: for example 64M, 1G, 512K; a plain number is bytes");
  }
}
