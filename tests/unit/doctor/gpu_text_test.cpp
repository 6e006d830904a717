// Tests of the parsers for nvidia-smi and the driver's version file.
#include "launcher/doctor/gpu_text.h"

#include <doctest/doctest.h>

using namespace ds::launcher::doctor;

TEST_CASE("GPUs and who uses them") {
  const auto gpus = parse_gpus(
      "0, GPU-aa, 81559, NVIDIA H100 80GB HBM3\n"
      "1, GPU-bb, 81559, NVIDIA H100, special\n"
      "nonsense\n"
      "x, y, z, w\n");
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].memory_mib == 81559);
  CHECK(gpus[0].name == "NVIDIA H100 80GB HBM3");
  CHECK(gpus[1].name == "NVIDIA H100, special");
  const auto processes = parse_gpu_processes(
      "GPU-bb, 4711, 1024, /usr/bin/python3\nGPU-cc, 12, [N/A], x\n\nGPU-aa, no, 1, y\n", gpus);
  REQUIRE(processes.size() == 2);
  CHECK(processes[0].gpu == 1);
  CHECK(processes[0].pid == 4711);
  CHECK(processes[0].memory_mib == 1024);
  CHECK(processes[1].gpu == -1);
  CHECK(processes[1].memory_mib == 0);
}

TEST_CASE("the driver's version in both forms that drivers have") {
  CHECK(parse_driver_version(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC "
            "2023\nGCC version: 12.2.0\n") == "535.104.05");
  CHECK(parse_driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  "
                             "Release Build  (x)") == "570.86.15");
  CHECK(parse_driver_version("").empty());
}
