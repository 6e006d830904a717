// Tests of disguises: names, spellings, messages, and torchrun's documented command lines.
#include <fstream>
#include <iterator>

#include "unit/disguise/disguise_helpers.h"

using namespace ds::launcher;
using ds::test::meant;
using ds::test::refused;
using ds::test::translate;
using ds::test::Variables;

TEST_CASE("a name is the last part of a path") {
  CHECK(find_disguise("/usr/local/bin/torchrun")->name == "torchrun");
  CHECK(find_disguise("torchrun.py") == nullptr);
  CHECK(find_disguise("/torchrun/dslaunch") == nullptr);
  CHECK(find_disguise("") == nullptr);
}

TEST_CASE("docs/disguises.md has a row for every option, as the tables say") {
  std::ifstream file(DS_SOURCE_DIR "/docs/disguises.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const Disguise& disguise : disguises()) {
    for (const ForeignOption& option : disguise.options()) {
      const char* const fate = option.fate == Fate::taken     ? "taken"
                               : option.fate == Fate::refused ? "refused"
                               : option.fate == Fate::noted   ? "noted"
                                                              : "nothing";
      std::string row = "| `" + std::string(option.names);
      if (!option.argument.empty()) row += " " + std::string(option.argument);
      row += "` | " + std::string(fate) + " | " + std::string(option.meaning) + " |\n";
      INFO(row);
      CHECK(text.find(row) != std::string::npos);
    }
  }
}

TEST_CASE("torchrun: one node") {
  CHECK(meant("torchrun train.py --lr 0.1") ==
        "--part 0/1:none -n 1 --one-program -- python3 -u train.py --lr 0.1");
  CHECK(meant("torchrun --standalone --nnodes=1 --nproc-per-node=4 train.py -x : -y") ==
        "--part 0/1:none -n 4 --one-program -- python3 -u train.py -x : -y");
  CHECK(meant("torchrun --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --nnodes=1 "
              "--nproc-per-node=2 train.py") ==
        "--part 0/1:none -n 2 --one-program -- python3 -u train.py");
  CHECK(meant("torchrun --nproc_per_node auto -m pkg.train a") ==
        "--part 0/1:none -n 6 --one-program -- python3 -u -m pkg.train a");
  CHECK(meant("torchrun --nproc_per_node auto train.py", {}, 8) ==
        "--part 0/1:none -n 8 --one-program -- python3 -u train.py");
  CHECK(meant("torchrun --nproc-per-node gpu --no-python ./run.sh", {}, 2) ==
        "--part 0/1:none -n 2 --one-program -- ./run.sh");
  CHECK(meant("torchrun --nproc-per-node cpu train.py", {{"PYTHON_EXEC", "/opt/py"}}, 2) ==
        "--part 0/1:none -n 6 --one-program -- /opt/py -u train.py");
  CHECK(meant("torchrun --nproc 2 --master_port 29600 -- train.py") ==
        "--part 0/1:none -n 2 --master-port 29600 --one-program -- python3 -u train.py");
}

TEST_CASE("torchrun: one of several nodes") {
  CHECK(meant("torchrun --nnodes=2 --nproc_per_node=8 --node_rank=1 --master_addr=10.0.0.1 "
              "--master_port=29501 train.py") ==
        "--part 1/2:none -n 8 --master-addr 10.0.0.1 --master-port 29501 --one-program -- "
        "python3 -u train.py");
  CHECK(meant("torchrun --nnodes 2:2 --nproc-per-node 1 --node-rank 0 --rdzv-id 77 "
              "--rdzv-endpoint [fd00::1]:2345 train.py") ==
        "--part 0/2:77 -n 1 --master-addr fd00::1 --master-port 2345 --one-program -- "
        "python3 -u train.py");
  CHECK(meant("torchrun --nnodes 4 --rdzv-backend c10d --rdzv-endpoint node0 --node-rank 3 "
              "--max-restarts 2 --role trainer --shutdown-timeout 60 t.py") ==
        "--part 3/4:none -n 1 --master-addr node0 --master-port 29400 --max-restarts 2 --role "
        "trainer --grace 60 --one-program -- python3 -u t.py");
}

TEST_CASE("torchrun: nodes that find each other at an endpoint") {
  CHECK(meant("torchrun --nnodes 2:4 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint "
              "n0:29401 --rdzv-id 77 --max-restarts 3 t.py --lr 1") ==
        "agent --join --root n0:29401 --nodes 2:4 --slots 2 --admit now --max-restarts 3 --job-id "
        "77 --one-program -- python3 -u t.py --lr 1");
  CHECK(meant("torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint [fd00::1] --local-addr "
              "fd00::2 --local-ranks-filter 0 train.toml") ==
        "agent --join --root [fd00::1]:29400 --nodes 2:2 --slots 1 --admit now --max-restarts 0 "
        "--node-name fd00::2 --show 0,1 train.toml");
  const Variables pod = {{"PET_NNODES", "1:3"},
                         {"PET_RDZV_BACKEND", "c10d"},
                         {"PET_RDZV_ENDPOINT", "t-worker-0:23456"}};
  CHECK(meant("torchrun t.py", pod)
            .starts_with("agent --join --root t-worker-0:23456 --nodes 1:3 --slots 1"));
}

TEST_CASE("torchrun: what Kubeflow's torch runtime puts into the environment") {
  const Variables pod = {{"PET_NNODES", "4"},
                         {"PET_NPROC_PER_NODE", "2"},
                         {"PET_NODE_RANK", "3"},
                         {"PET_MASTER_ADDR", "t5-node-0-0.t5"},
                         {"PET_MASTER_PORT", "29500"}};
  CHECK(meant("torchrun train.py", pod) ==
        "--part 3/4:none -n 2 --master-addr t5-node-0-0.t5 --master-port 29500 --one-program -- "
        "python3 -u train.py");
  CHECK(meant("torchrun --node-rank 1 train.py", pod).starts_with("--part 1/4:none"));
  CHECK(meant("torchrun train.toml train.steps=2", pod) ==
        "--part 3/4:none -n 2 --master-addr t5-node-0-0.t5 --master-port 29500 train.toml "
        "train.steps=2");
  CHECK(meant("torchrun train.py", {{"PET_NO_PYTHON", "1"}, {"PET_MODULE", "0"}}) ==
        "--part 0/1:none -n 1 --one-program -- train.py");
  CHECK(refused("torchrun t.py", {{"PET_MODULE", "yes"}}) ==
        "torchrun: PET_MODULE must be 0 or 1, not 'yes'\n  hint: set it to 0 or 1");
}

TEST_CASE("torchrun: output") {
  CHECK(meant("torchrun --nnodes 2 --nproc-per-node 4 --node-rank 1 --local-ranks-filter 0,3 "
              "--log-dir /l -t 3 t.py") ==
        "--part 1/2:none -n 4 --master-addr 127.0.0.1 --master-port 29500 --log-dir /l --show 4,7 "
        "--one-program -- python3 -u t.py");
  CHECK(meant("torchrun --log_dir=/l -r3 t.py") ==
        "--part 0/1:none -n 1 --log-dir /l --show none --one-program -- python3 -u t.py");
  CHECK(
      translate("torchrun -r 3 t.py").notes ==
      std::vector<std::string>{"-r and -t have no effect without --log-dir: all output is shown"});
}

TEST_CASE("torchrun: what cannot be") {
  CHECK(refused("torchrun --nproc-per-nod 2 --x") ==
        "torchrun: unknown option --x\n  hint: see dslaunch as torchrun --help");
  CHECK(refused("torchrun --nproc-per-nodes 2 t.py") ==
        "torchrun: unknown option --nproc-per-nodes\n  hint: did you mean --nproc-per-node?");
  CHECK(refused("torchrun --nnodes") ==
        "torchrun: --nnodes needs a value\n  hint: see dslaunch as torchrun --help");
  CHECK(refused("torchrun --standalone=1 t.py") ==
        "torchrun: --standalone takes no value\n  hint: see dslaunch as torchrun --help");
  CHECK(refused("torchrun --nnodes 1:4 t.py") ==
        "torchrun: --nnodes 1:4 needs --rdzv-backend c10d\n"
        "  hint: or start the job once, from one machine: dslaunch --hostfile FILE --nodes MIN:MAX "
        "--ppn N -- PROGRAM (docs/elastic.md)");
  CHECK(refused("torchrun --nnodes 4:2 --rdzv-backend c10d --rdzv-endpoint h:1 t.py") ==
        "torchrun: --nnodes 4:2: MIN is greater than MAX\n  hint: did you mean 2:4?");
  CHECK(refused("torchrun --nnodes 1:4 --rdzv-backend c10d t.py")
            .starts_with("torchrun: --nnodes 1:4 needs --rdzv-endpoint HOST:PORT\n"));
  CHECK(refused("torchrun --nnodes 1:4 --rdzv-backend etcd-v2 --rdzv-endpoint h:1 t.py") ==
        "torchrun: --rdzv-backend etcd-v2 is not supported\n"
        "  hint: use c10d: its endpoint is the address of one of the nodes");
  CHECK(refused("torchrun --nnodes 2 --node-rank 2 t.py") ==
        "torchrun: --node-rank 2 is out of range for 2 nodes\n  hint: node ranks start at 0");
  CHECK(refused("torchrun --nnodes 2 --rdzv-backend etcd --node-rank 0 t.py")
            .starts_with("torchrun: --rdzv-backend etcd is not supported"));
  CHECK(refused("torchrun --nproc-per-node gpu t.py")
            .starts_with("torchrun: --nproc-per-node gpu, but this node has no GPU"));
  CHECK(refused("torchrun --nproc-per-node x t.py").starts_with("torchrun: --nproc-per-node"));
  CHECK(refused("torchrun --virtual-local-rank t.py") ==
        "torchrun: --virtual-local-rank is not supported\n"
        "  hint: remove it: a rank picks its GPU by LOCAL_RANK");
  CHECK(refused("torchrun -m --no-python t.py")
            .starts_with("torchrun: --module and --no-python cannot be combined"));
  CHECK(refused("torchrun --nnodes 1").starts_with("torchrun: no program is given"));
  CHECK(
      translate("torchrun --rdzv-conf a=1 --rdzv-conf=b=2 --start-method fork t.py").notes ==
      std::vector<std::string>{
          "--rdzv-conf has no effect: it applies to torchrun's own rendezvous, which is not used"});
}

namespace {

/// Returns what the user of a linked launcher reads about words that dslaunch itself refuses.
std::string said(const std::string& line, bool linked = true) {
  const std::vector<std::string> typed = ds::test::split(line);
  try {
    const Disguised known = translate(line);
    std::vector<const char*> words = {"dslaunch"};
    for (const std::string& word : known.words) words.push_back(word.c_str());
    parse_args(static_cast<int>(words.size()), words.data());
  } catch (const ds::Error& error) {
    return in_words_of(*find_disguise(typed[0]), linked, typed, error).for_people();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("errors name the program and the option as typed") {
  CHECK(said("mpirun -np x a") ==
        "mpirun: -np must be an integer from 1 to 1048576, not 'x'\n  hint: see mpirun --help");
  CHECK(said("mpirun -np x a", false) ==
        "mpirun: -np must be an integer from 1 to 1048576, not 'x'\n"
        "  hint: see dslaunch as mpirun --help");
  CHECK(said("mpiexec.hydra -perhost x a").starts_with("mpiexec.hydra: -perhost must be "));
  CHECK(said("mpiexec --map-by moon a").starts_with("mpiexec: --map-by 'moon': it must be "));
  CHECK(said("mpirun -H b::c a --host x").starts_with("mpirun: -H: 'b::c' has more than one ':'"));
  CHECK(said("mpirun -env 1A 2 a").starts_with("mpirun: -env must be NAME, "));
  CHECK(said("torchrun --master_port x t.py").starts_with("torchrun: --master_port must be "));
  CHECK(said("deepspeed --num_accelerators x t.py")
            .starts_with("deepspeed: --num_accelerators must be "));
  CHECK(said("pdsh -f x -w n ls") ==
        "pdsh: -f must be a number from 1 to 65536, not 'x'\n  hint: see pdsh --help");
  CHECK(said("mpiexec.hydra -foo") ==
        "mpiexec.hydra: unknown option -foo\n  hint: see mpiexec.hydra --help");
  CHECK(refused("mpiexec.hydra -n 2") ==
        "mpiexec.hydra: no program is given\n  hint: for example: mpiexec.hydra -np 4 ./a.out");
  CHECK(refused("mpiexec --bind-to x a").starts_with("mpiexec: --bind-to cannot be 'x'"));
}

TEST_CASE("an error about a file keeps its form") {
  const std::vector<std::string> typed = {"-f", "h"};
  const ds::Error error(ds::ErrorKind::config, "cannot read hostfile h", "check --hostfile; or so");
  CHECK(in_words_of(*find_disguise("mpiexec.hydra"), true, typed, error).for_people() ==
        "cannot read hostfile h\n  hint: check -f; or so");
}
