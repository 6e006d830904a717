// Tests of deepspeed's command lines, from its documentation, tutorials and arena's jobs.
#include "unit/disguise/disguise_helpers.h"

using ds::test::meant;
using ds::test::refused;
using ds::test::translate;

namespace {

/// Script followed by --local_rank.
const std::string kScript =
    R"(--one-program -- /bin/sh -c exec 'python3' '-u' "$0" "--local_rank=$LOCAL_RANK" "$@" )";

}  // namespace

TEST_CASE("deepspeed: hosts and slots") {
  CHECK(meant("deepspeed train.py --deepspeed --deepspeed_config ds.json") ==
        "-n all " + kScript + "train.py --deepspeed --deepspeed_config ds.json");
  CHECK(meant("deepspeed --hostfile=myhosts --num_nodes 2 --num_gpus=4 train.py") ==
        "--hostfile myhosts --num-nodes 2 --num-gpus 4 " + kScript + "train.py");
  CHECK(meant("deepspeed -i worker-0@worker-1:0,2 train.py") ==
        "--include worker-0@worker-1:0,2 " + kScript + "train.py");
  CHECK(meant("deepspeed --include localhost:0,1 --master_port 29501 train.py") ==
        "--include localhost:0,1 --master-port 29501 " + kScript + "train.py");
  CHECK(meant("deepspeed -H hosts -e worker-1:0 --master_addr 10.0.0.1 --no_local_rank train.py") ==
        "--hostfile hosts --exclude worker-1:0 --master-addr 10.0.0.1 --one-program -- python3 -u "
        "train.py");
}

TEST_CASE("deepspeed: programs") {
  CHECK(meant("deepspeed --num_gpus 2 --module --no_local_rank pkg.train --x") ==
        "--num-gpus 2 --one-program -- python3 -u -m pkg.train --x");
  CHECK(meant("deepspeed --num_gpus 2 --no_python --no_local_rank ./train") ==
        "--num-gpus 2 --one-program -- ./train");
  CHECK(meant("deepspeed --num_accelerators 2 train.toml train.steps=3") ==
        "--num-gpus 2 train.toml train.steps=3");
  CHECK(refused("deepspeed --module --no_python a").starts_with("deepspeed: --module and"));
  CHECK(translate("deepspeed t.py a'b", {{"PYTHON_EXEC", "/opt/a'b/py"}}).words ==
        std::vector<std::string>{
            "-n", "all", "--one-program", "--", "/bin/sh", "-c",
            R"(exec '/opt/a'\''b/py' '-u' "$0" "--local_rank=$LOCAL_RANK" "$@")", "t.py", "a'b"});
}

TEST_CASE("deepspeed: without ssh") {
  CHECK(
      meant(
          "deepspeed --hostfile h --no_ssh --node_rank 1 --master_addr w0 --no_local_rank t.py") ==
      "--hostfile h --master-addr w0 --part 1 --master-port 29500 --one-program -- python3 -u "
      "t.py");
  CHECK(refused("deepspeed --no_ssh t.py").starts_with("deepspeed: --no_ssh needs the rank"));
  CHECK(refused("deepspeed --no_ssh --node_rank 1 t.py")
            .starts_with("deepspeed: --no_ssh needs the master's address"));
}

TEST_CASE("deepspeed: output, notes, refusals") {
  CHECK(meant("deepspeed --enable_each_rank_log /l --no_local_rank --log_level warning t.py") ==
        "--log-dir node:/l --show none --log-level warn -n all --one-program -- python3 -u t.py");
  CHECK(meant("deepspeed --enable_each_rank_log None --num_gpus 1 --no_local_rank t.py") ==
        "--num-gpus 1 --one-program -- python3 -u t.py");
  const auto noted = translate(
      "deepspeed --launcher openmpi --launcher_args=-xA --force_multi --bind_cores_to_rank "
      "--bind_core_list 0-3 t.py");
  CHECK(noted.words[0] == "--bind");
  CHECK(noted.words[1] == "cores");
  CHECK(noted.notes.size() == 3);
  CHECK(noted.notes[2] ==
        "--bind_core_list has no effect: dslaunch's --bind cores divides the node's cores");
  CHECK(meant("deepspeed --elastic_training -H f --no_local_rank t.py") ==
        "--hostfile f --nodes 1: --one-program -- python3 -u t.py");
  CHECK(meant("deepspeed --elastic_training --min_elastic_nodes 2 --max_elastic_nodes 8 -H f "
              "--no_local_rank t.py") ==
        "--hostfile f --nodes 2:8 --one-program -- python3 -u t.py");
  CHECK(translate("deepspeed --min_elastic_nodes 2 t.py").notes.size() == 1);
  CHECK(refused("deepspeed --numgpus 2 t.py") ==
        "deepspeed: unknown option --numgpus\n  hint: did you mean --num_gpus?");
  CHECK(refused("deepspeed --num_gpus 2").starts_with("deepspeed: no program is given"));
  CHECK(refused("deepspeed --autotuning run t.py")
            .starts_with("deepspeed: --autotuning is not supported"));
}
