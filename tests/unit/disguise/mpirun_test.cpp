// Tests of command lines of mpirun, mpiexec and mpiexec.hydra, from manuals and operators.
#include <cstdint>
#include <span>

#include "launcher/disguise/mpi_library.h"
#include "unit/disguise/disguise_helpers.h"

using ds::launcher::SecretPlace;
using ds::test::meant;
using ds::test::refused;
using ds::test::translate;

namespace {

/// Words that every mpirun adds, without --prefix.
const std::string kAlways = "--mpi-env=openmpi,mpich --mpi=any -x OMPI_MCA_* --prefix '' --stdin 0 ";
const std::string kOpenMpi = "--bind openmpi " + kAlways;
const std::string kHydra =
    "--oversubscribe=rounds --env all --mpi-env=openmpi,mpich --mpi=any --prefix '' --stdin 0 ";

}  // namespace

TEST_CASE("Debian's names stand for Open MPI's launcher and for Hydra") {
  for (const char* name : {"mpirun.openmpi", "mpiexec.openmpi"})
    CHECK(meant(name + std::string(" -n 2 a")) == meant("mpirun -n 2 a"));
  for (const char* name : {"mpirun.mpich", "mpiexec.mpich"})
    CHECK(meant(name + std::string(" -n 2 a")) == meant("mpiexec.hydra -n 2 a"));
  CHECK(translate("mpirun.mpich -V").text->starts_with("mpirun.mpich: dslaunch "));
}

TEST_CASE("mpirun: ranks and hosts") {
  CHECK(meant("mpirun -np 4 ./a.out x") == kOpenMpi + "-n 4 -- ./a.out x");
  CHECK(meant("mpirun ./a.out") == kOpenMpi + "-n all -- ./a.out");
  CHECK(meant("mpiexec --n 4 -H a:2,b:2 ./a.out") == kOpenMpi + "-n 4 --host a:2,b:2 -- ./a.out");
  CHECK(meant("mpirun --hostfile hosts -N 8 ./a.out") ==
        "--hostfile hosts --ppn 8 " + kOpenMpi + "-- ./a.out");
  CHECK(meant("mpirun --host a --host b --npernode 2 -np 4 ./a.out") ==
        "--ppn 2 " + kOpenMpi + "-n 4 --host a --host b -- ./a.out");
  CHECK(meant("mpirun --map-by ppr:8:node -np 16 ./a.out") ==
        "--map-by ppr:8:node " + kOpenMpi + "-n 16 -- ./a.out");
  CHECK(meant("mpirun --map-by node:OVERSUBSCRIBE -np 16 ./a.out") ==
        "--map-by node --bind openmpi --oversubscribe " + kAlways + "-n 16 -- ./a.out");
  CHECK(meant("mpirun -np 2 --map-by core --bind-to core ./a.out") ==
        "--map-by core --bind core " + kAlways + "-n 2 -- ./a.out");
  CHECK(meant("mpirun -machinefile hosts -bynode -wdir /w -timeout 60 ./a.out") ==
        "--hostfile hosts --map-by node " + kOpenMpi + "--timeout 60 -n all --wdir /w -- ./a.out");
  CHECK(meant("mpirun -np 2 train.toml train.steps=2") ==
        "--mpi-env=openmpi,mpich --prefix '' --stdin 0 -n 2 train.toml train.steps=2");
}

TEST_CASE("mpirun: an MPIJob, Horovod's and NVIDIA's lines") {
  CHECK(meant("mpirun -np 24 --allow-run-as-root -x NCCL_DEBUG=INFO train --deepspeed_config "
              "ds.json") ==
        kOpenMpi + "-n 24 -x NCCL_DEBUG=INFO -- train --deepspeed_config ds.json");
  const auto horovod = translate(
      "mpirun -np 16 -H server1:4,server2:4 -bind-to none -map-by slot -x NCCL_DEBUG=INFO -x "
      "LD_LIBRARY_PATH -x PATH -mca pml ob1 -mca btl ^openib python train.py",
      {{"PATH", "/bin"}});
  CHECK(ds::test::join(horovod.words) ==
        "--map-by slot --bind none " + kAlways +
            "-n 16 --host server1:4,server2:4 -x OMPI_MCA_pml=ob1 -x OMPI_MCA_btl=^openib -x "
            "NCCL_DEBUG=INFO -x PATH -- python train.py");
  CHECK(horovod.notes ==
        std::vector<std::string>{"-x LD_LIBRARY_PATH has no effect: it is not set here"});
  CHECK(translate("mpirun --mca plm_rsh_num_concurrent 9 -prtemca state_base_verbose 5 -np 2 a", {})
            .notes == std::vector<std::string>{
                          "--mca plm_rsh_num_concurrent, state_base_verbose has no effect: it "
                          "is for the launcher of Open MPI"});
  CHECK(meant("mpirun --mca plm_rsh_agent /etc/mpi/kubexec.sh --mca plm_rsh_num_concurrent 9 -np 2 "
              "a") == kOpenMpi + "--transport exec:/etc/mpi/kubexec.sh -n 2 -- a");
  CHECK(meant("mpirun --mca plm_rsh_agent /usr/bin/ssh --mca orte_default_hostfile h -np 2 a") ==
        "--hostfile h " + kOpenMpi + "-n 2 -- a");
}

TEST_CASE("mpirun: binding") {
  CHECK(meant("mpirun -np 2 --bind-to core --report-bindings a") ==
        "--bind core --report-bindings " + kAlways + "-n 2 -- a");
  CHECK(meant("mpirun -np 2 --bind-to socket:overload-allowed a") ==
        "--bind socket " + kAlways + "-n 2 -- a");
  CHECK(meant("mpirun -np 2 --bind-to core:overload-allowed a") ==
        "--bind core " + kAlways + "-n 2 -- a");
  CHECK(meant("mpirun -np 2 -bind-to-core a") == "--bind core " + kAlways + "-n 2 -- a");
  CHECK(meant("mpirun -np 2 --bind-to board a") == "--bind none " + kAlways + "-n 2 -- a");
  CHECK(meant("mpirun -np 2 --bind-to numa a") ==
        "--map-by numa --bind numa " + kAlways + "-n 2 -- a");
  CHECK(translate("mpirun -np 2 --bind-to cpu-list:ordered a").notes ==
        std::vector<std::string>{"--bind-to cpu-list:ordered has no effect: see -cpu-set"});
  CHECK(meant("mpirun -np 2 train.toml") ==
        "--mpi-env=openmpi,mpich --prefix '' --stdin 0 -n 2 train.toml");
}

TEST_CASE("mpirun: qualifiers of --bind-to, also without a policy") {
  const std::string end = kAlways + "-n 2 -- a";
  for (const char* qualifiers :
       {":overload-allowed", ":OVERLOAD-ALLOWED,IF-SUPPORTED", ":ordered", ":overload"}) {
    CAPTURE(qualifiers);
    CHECK(meant(std::string("mpirun -np 2 --bind-to ") + qualifiers + " a") ==
          "--bind openmpi " + end);
    for (const char* variable :
         {"OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy"})
      CHECK(meant("mpirun -np 2 a", {{variable, qualifiers}}) == "--bind openmpi " + end);
  }
  CHECK(meant("mpirun -np 2 --bind-to core:ordered,oversubscribe-allowed a") ==
        "--bind core " + end);
  CHECK(meant("mpirun -np 2 --bind-to core:REPORT a") == "--bind core --report-bindings " + end);
  CHECK(meant("mpirun -np 2 --bind-to :report a") == "--bind openmpi --report-bindings " + end);
  CHECK(meant("mpirun -np 2 a", {{"PRTE_MCA_hwloc_default_binding_policy", "numa:report"}}) ==
        "--map-by numa --bind numa --report-bindings " + end);
  CHECK(meant("mpirun -np 2 --bind-to :overload-allowed a",
              {{"OMPI_MCA_hwloc_base_binding_policy", "none"}}) == "--bind openmpi " + end);
}

TEST_CASE("mpirun: mapping") {
  const auto placed = [](const std::string& words) {
    const std::string text = meant("mpirun " + words + " -np 2 a");
    return text.substr(0, text.find(" --mpi-env"));
  };
  CHECK(placed("--map-by SOCKET:PE=2") == "--map-by socket:pe=2 --bind openmpi");
  CHECK(placed("--map-by socket:PE=2,OVERSUBSCRIBE") ==
        "--map-by socket:pe=2 --bind openmpi --oversubscribe");
  CHECK(placed("--map-by package:span --rank-by fill") ==
        "--map-by package:span --rank-by fill --bind openmpi");
  CHECK(placed("--map-by ppr:2:socket:PE=4 --bind-to core") ==
        "--map-by ppr:2:socket:pe=4 --bind core");
  CHECK(placed("--map-by :OVERSUBSCRIBE") == "--map-by slot --bind openmpi --oversubscribe");
  CHECK(placed("--map-by l2cache") == "--map-by core --bind openmpi");
  CHECK(placed("--rank-by node") == "--rank-by node --bind openmpi");
  CHECK(placed("--rank-by core --map-by socket") ==
        "--map-by socket --rank-by fill --bind openmpi");
  CHECK(placed("-npersocket 2") == "--map-by ppr:2:socket --bind socket");
  CHECK(placed("--ppr 1:numa") == "--map-by ppr:1:numa --bind openmpi");
  CHECK(placed("-cpus-per-proc 2") == "--map-by slot:pe=2 --bind openmpi");
  CHECK(placed("-bycore") == "--map-by core --bind openmpi");
  CHECK(placed("--display map,bind") == "--bind openmpi --report-bindings --display-map");
  CHECK(placed("--map-by slot:NOLOCAL") == "--map-by slot --bind openmpi --no-local");
  CHECK(placed("--mca hwloc_base_binding_policy none") == "--bind none");
  CHECK(placed("--mca rmaps_base_mapping_policy node:PE=2") == "--map-by node:pe=2 --bind openmpi");
  CHECK(meant("mpirun -np 2 a", {{"OMPI_MCA_hwloc_base_binding_policy", "none"}}) ==
        "--bind none " + kAlways + "-n 2 -- a");
  CHECK(
      meant("mpirun --bind-to core -np 2 a", {{"PRTE_MCA_hwloc_default_binding_policy", "none"}}) ==
      "--bind core " + kAlways + "-n 2 -- a");
  CHECK(placed("--map-by seq") == "--map-by seq --bind openmpi");
  CHECK(placed("-nolocal") == "--bind openmpi --no-local");
  CHECK(placed("-display-map") == "--bind openmpi --display-map");
  CHECK(meant("mpirun --map-by ppr:1:numa a") ==
        "--map-by ppr:1:numa --bind openmpi " + kAlways + "-- a");
  for (const char* policy : {"rankfile", "core:PE-LIST=1"}) {
    CAPTURE(policy);
    CHECK(
        refused(std::string("mpirun --map-by ") + policy + " a").starts_with("mpirun: --map-by "));
  }
}

TEST_CASE("mpirun: unknown words of --bind-to, --map-by and --rank-by are refused") {
  const std::string policies =
      "\n  hint: choose one of: none, hwthread, core, l1cache, l2cache, l3cache, numa, socket, "
      "package, board, machine; of Hydra also rr";
  CHECK(refused("mpirun --bind-to gpu -np 1 a") == "mpirun: --bind-to cannot be 'gpu'" + policies);
  CHECK(refused("mpirun -bind-to= -np 1 a") == "mpirun: -bind-to cannot be ''" + policies);
  CHECK(refused("mpirun -np 1 a", {{"OMPI_MCA_hwloc_base_binding_policy", "coer"}}) ==
        "mpirun: OMPI_MCA_hwloc_base_binding_policy cannot be 'coer'" + policies);
  CHECK(refused("mpirun --mca hwloc_base_binding_policy x -np 1 a") ==
        "mpirun: --mca hwloc_base_binding_policy cannot be 'x'" + policies);
  CHECK(refused("mpirun --bind-to core:if-suported -np 1 a") ==
        "mpirun: --bind-to core:if-suported: 'if-suported' is not known\n"
        "  hint: after the ':' may stand if-supported, no-overload, ordered, overload-allowed, "
        "oversubscribe-allowed, report, or Hydra's number");
  CHECK(refused("mpirun --bind-to :coer -np 1 a").starts_with("mpirun: --bind-to :coer: 'coer'"));
  CHECK(refused("mpirun --bind-to :2 -np 1 a").starts_with("mpirun: --bind-to :2: '2'"));
  CHECK(refused("mpirun -np 1 a", {{"OMPI_MCA_hwloc_base_binding_policy", ":"}}) ==
        "mpirun: OMPI_MCA_hwloc_base_binding_policy cannot be ':'" + policies);
  CHECK(refused("mpirun --bind-to core:overload-allowed,if-supported -np 1 a") == "none");
  CHECK(refused("mpirun --rank-by moon -np 1 a") ==
        "mpirun: --rank-by cannot be 'moon'\n  hint: choose one of: slot, node, fill, core, "
        "hwthread, numa, socket, package, board, l1cache, l2cache, l3cache");
  CHECK_THROWS_WITH(meant("mpirun --map-by moon -np 1 a"),
                    "--map-by 'moon': it must be slot, node, seq, socket, numa, l3cache, core, "
                    "hwthread or ppr:N:PART");
}

TEST_CASE("Hydra binds only if it is told to") {
  const auto placed = [](const std::string& words) {
    const std::string text = meant("mpiexec.hydra " + words + " -n 2 a");
    return text.substr(0, text.find("--oversubscribe"));
  };
  CHECK(placed("").empty());
  CHECK(placed("-bind-to core:2") == "--map-by slot:pe=2 --bind core ");
  CHECK(placed("-bind-to core -map-by socket") == "--map-by socket --bind core ");
  CHECK(placed("-map-by core") == "--map-by core --bind none ");
  CHECK(placed("-bind-to rr") == "--map-by core --bind hwthread ");
  CHECK(meant("mpiexec.hydra -n 2 a", {{"HYDRA_BINDING", "core"}, {"MPIEXEC_TIMEOUT", "9"}}) ==
        "--bind core " + kHydra + "--timeout 9 -n 2 -- a");
  CHECK(meant("mpirun -n 2 a", {{"MPIEXEC_TIMEOUT", "9"}}) == kOpenMpi + "--timeout 9 -n 2 -- a");
  CHECK(meant("mpiexec.hydra -n 2 a", {{"OMPI_MCA_hwloc_base_binding_policy", "core"}}) ==
        kHydra + "-n 2 -- a");
  CHECK(translate("mpiexec.hydra -n 2 a", {{"I_MPI_PIN_DOMAIN", "omp"}}).notes ==
        std::vector<std::string>{"I_MPI_PIN_DOMAIN has no effect: use -bind-to and -map-by"});
}

TEST_CASE("mpirun: variables, the last one of a name; values that nobody else shall see") {
  const auto seen = translate("mpirun -x A=1 -x B=x=y -x A=2 -x RANK=3 -x MY_* -np 1 sh -x C=3");
  CHECK(ds::test::join(seen.words) == kOpenMpi + "-n 1 -x B=x=y -x A=2 -x MY_* -- sh -x C=3");
  CHECK(seen.notes ==
        std::vector<std::string>{"-x RANK has no effect: dslaunch sets it for each rank"});
  CHECK(seen.secrets == std::vector<SecretPlace>{{1, 2}, {3, 2}, {5, 2}, {7, 5}});
}

TEST_CASE("mpirun: the version, wherever the option stands") {
  CHECK(translate("mpirun -np 2 --version a").text->starts_with("mpirun: dslaunch "));
  CHECK(translate("mpiexec.hydra -V").text->starts_with("mpiexec.hydra: dslaunch "));
}

TEST_CASE("mpirun: several programs") {
  CHECK(
      meant("mpirun -np 1 -x A=1 ./master : -np 3 -H b -wdir /w ./worker : ./rest x") ==
      kOpenMpi +
          "--separate -n 1 -x A=1 -- ./master : -n 3 --host b --wdir /w -- ./worker : -- ./rest x");
  CHECK(meant("mpirun -np 1 a : -np 1 --timeout 5 b") ==
        kOpenMpi + "--timeout 5 --separate -n 1 -- a : -n 1 -- b");
  CHECK(meant("mpirun -N 1 a : -N 2 b") ==
        "--ppn 1 " + kOpenMpi + "--separate -- a : --ppn 2 -- b");
  CHECK(refused("mpirun -np 1 a :").starts_with("mpirun: no program is given"));
  CHECK(refused("mpirun -np 1 train.toml : -np 1 a")
            .starts_with("mpirun: train.toml cannot run beside other programs"));
}

TEST_CASE("mpirun: output and input") {
  CHECK(meant("mpirun -np 2 --tag-output --timestamp-output a") ==
        "--bind openmpi --mpi-env=openmpi,mpich --mpi=any -x OMPI_MCA_* --prefix [1,{rank}]<std{stream}>: "
        "--timestamps "
        "--stdin 0 -n 2 -- "
        "a");
  CHECK(meant("mpirun -np 2 --stdin all --output-filename out a") ==
        "--bind openmpi --mpi-env=openmpi,mpich --mpi=any -x OMPI_MCA_* --prefix '' --log-dir out "
        "--stdin all -n 2 -- a");
}

TEST_CASE("mpirun: --output of Open MPI 5") {
  const std::string begin = "--bind openmpi --mpi-env=openmpi,mpich --mpi=any -x OMPI_MCA_* ";
  CHECK(meant("mpirun -np 2 --output tag:timestamp,directory=d:nocopy a") ==
        begin + "--prefix [1,{rank}]<std{stream}>:  --timestamps --log-dir d --stdin 0 -n 2 -- a");
  CHECK(meant("mpirun -np 2 --output rank,filename=f a") ==
        begin + "--prefix [{rank}]<std{stream}>:  --log-dir f --stdin 0 -n 2 -- a");
  CHECK(translate("mpirun -np 2 --output merge-stderr-to-stdout a").notes ==
        std::vector<std::string>{"--output merge-stderr-to-stdout has no effect"});
  CHECK(refused("mpirun -np 2 --output tags,foo a")
            .starts_with("mpirun: --output tags,foo: 'foo' is not known"));
}

TEST_CASE("mpiexec of MPICH and Intel MPI") {
  CHECK(meant("mpiexec.hydra -f hosts -n 8 ./a.out") ==
        "--hostfile hosts " + kHydra + "-n 8 -- ./a.out");
  CHECK(meant("mpiexec -ppn 2 -hosts a,b -n 4 -genv OMP_NUM_THREADS 4 -genvlist X,Y -iface eth1 a",
              {{"X", "1"}}) ==
        "--ppn 2 " + kHydra + "--iface eth1 -n 4 --host a,b -x OMP_NUM_THREADS=4 -x X -- a");
  CHECK(meant("mpiexec.hydra -genvnone -l -n 2 -env A 1 a : -n 1 -env A 2 b") ==
        "--oversubscribe=rounds --env none --mpi-env=openmpi,mpich --mpi=any --prefix [{rank}]  "
        "--stdin 0 "
        "--separate -n 2 -x "
        "A=1 -- a : -n 1 -x A=2 -- b");
  CHECK(meant("mpiexec.hydra -n 1 -env A 1 a : -n 1 -genv A 2 -genv B 3 b") ==
        kHydra + "--separate -n 1 -x B=3 -x A=1 -- a : -n 1 -x A=2 -x B=3 -- b");
  CHECK(meant("mpiexec.hydra -launcher-exec ./go -n 1 a") ==
        kHydra + "--transport exec:./go -n 1 -- a");
  CHECK(meant("mpiexec.hydra -prepend-pattern %r@%h%%: -hosts-group n[1-2] -n 2 a") ==
        "--oversubscribe=rounds --env all --mpi-env=openmpi,mpich --mpi=any --prefix "
        "{rank}@{host}%: --stdin 0 "
        "-n 2 --host n[1-2] -- a");
  CHECK(meant("mpiexec.hydra -genv A=b=c -env D= -n 2 a") == kHydra + "-n 2 -x A=b=c -x D= -- a");
  const auto joined = translate("mpiexec.hydra -genv KEY=secret -n 1 a");
  CHECK(joined.secrets == std::vector<SecretPlace>{{1, 4}});
  const auto pair = translate("mpiexec.hydra -genv KEY secret -n 1 a");
  CHECK(pair.secrets == std::vector<SecretPlace>{{2, 0}});
}

TEST_CASE("mpirun: what cannot be") {
  CHECK(refused("mpirun --oversubscribed -np 4 a") ==
        "mpirun: unknown option --oversubscribed\n  hint: did you mean -oversubscribe?");
  CHECK(refused("mpirun -np") ==
        "mpirun: -np needs a value\n  hint: see dslaunch as mpirun --help");
  CHECK(refused("mpirun -mca btl") ==
        "mpirun: -mca needs NAME VALUE\n  hint: see dslaunch as mpirun --help");
  CHECK(refused("mpirun -rf ranks a") ==
        "mpirun: -rf is not supported\n  hint: use -hostfile to set the slots of hosts");
  CHECK(refused("mpirun --enable-recovery a").find("the first failure stops the job") !=
        std::string::npos);
}

TEST_CASE("programs of an MPI are known by their libraries, and no bytes are too wrong") {
  const auto bytes_of = [](const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  };
  CHECK_FALSE(ds::launcher::mpi_library(bytes_of("")));
  CHECK_FALSE(ds::launcher::mpi_library(bytes_of("#!/bin/sh\n")));
  // Header, two program headers, the dynamic section at 0xb0, names at 0xf0; loaded at 0x1000.
  std::string file(0x100, '\0');
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) file[at + i] = static_cast<char>(value >> (8 * i));
  };
  file.replace(0, 6,
               "\x7f"
               "ELF\x02\x01");
  put(0x20, 0x40, 8);  // e_phoff
  put(0x38, 2, 2);     // e_phnum
  put(0x40, 1, 4);     // PT_LOAD: offset 0, address 0x1000, 0x100 bytes
  put(0x50, 0x1000, 8);
  put(0x60, 0x100, 8);
  put(0x78, 2, 4);  // PT_DYNAMIC
  put(0x80, 0xb0, 8);
  put(0x98, 0x30, 8);
  put(0xb0, 5, 8);  // DT_STRTAB
  put(0xb8, 0x10f0, 8);
  put(0xc0, 1, 8);  // DT_NEEDED
  put(0xc8, 1, 8);
  file.replace(0xf1, 12, "libmpi.so.40");
  CHECK(ds::launcher::mpi_library(bytes_of(file)) == "libmpi.so.40");
  std::string other = file;
  other.replace(0xf1, 12, "libm.so.6\0\0\0", 12);
  CHECK_FALSE(ds::launcher::mpi_library(bytes_of(other)));
  for (std::size_t size = 0; size < file.size(); ++size)
    ds::launcher::mpi_library(bytes_of(file.substr(0, size)));
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string wrong = file;
    wrong[at] = static_cast<char>(0xff);
    ds::launcher::mpi_library(bytes_of(wrong));
  }
}
