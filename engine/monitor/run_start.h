// RunStart: run.json, which says what a run is before its first step, so that it is known of a run
// that is killed, too.
#pragma once

#include <cstdint>
#include <string>

namespace ds {

struct RunStart {
  std::int64_t started_s = 0;  // seconds since 1970
  std::string build;           // versions and id of the program
  std::string host;            // of rank 0
  std::string device;          // of rank 0
  std::int64_t world_size = 1;
  std::int64_t local_ranks = 1;  // ranks on rank 0's host
  std::int64_t parameters = 0;
  std::string job{};        // id of the job, the same in all its epochs; empty: none
  std::uint64_t epoch = 0;  // of the job
};

/// Formats readable JSON with a final newline. The time is UTC: "2026-08-01 12:00:00".
std::string run_start_json(const RunStart& start);
/// Returns the job of a run.json; empty if the text is not one.
std::string job_of_run(const std::string& json);

}  // namespace ds
