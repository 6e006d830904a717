// What a rank checks and opens before it connects to the others.
#pragma once

#include <string>

#include "engine/config/load.h"
#include "engine/data/open_data.h"
#include "engine/kernels/kernels.h"
#include "engine/plan/auto.h"
#include "engine/train/job.h"
#include "engine/train/plan_launch.h"
#include "engine/train/resume.h"
#include "engine/train/save_start.h"

namespace ds {

/// What load_train_config() takes of a request. Pure.
[[nodiscard]] LoadRequest load_request(const JobRequest& request);

/// The place for which plan_launch() plans. is_here: the rank will run on this machine, so its
/// memory counts. Errors: Error{usage, config} of the config.
[[nodiscard]] LaunchPlace launch_place(const JobRequest& request, bool is_here);

/// Who saves into checkpoint.dir. Pure.
[[nodiscard]] SaveOwner owner_of(const JobRequest& request);

/// Loads the config of a job, with the backend chosen for this machine. `reason` receives why it is
/// not a GPU. Errors: Error{usage, config}.
[[nodiscard]] TrainConfig config_with_backend(const JobRequest& request,
                                              std::string* reason = nullptr);

/// A job with the settings that it keeps from its first start.
struct JobStart {
  LoadRequest given;   // without these settings, for Resume::load()
  JobRequest request;  // with them
  Resume resume;
};

/// Returns the request with kept settings. Errors: Error{config} of the config, or because the
/// checkpoint cannot be used.
[[nodiscard]] JobStart start_of(const JobRequest& given, Recovery recovery = {});

/// Of the folders whose weights are imported; both are empty if none are.
struct Imported {
  std::string identity{}, note{};
};

/// Errors: Error{config} if a folder does not fit the config.
Imported import_of(const TrainConfig& config, const Resume& resume);

/// Waits until an earlier job has ended its last save, so that this one resumes from that save.
/// Errors: Error{config} of the config, or because another job goes on saving.
void await_earlier_job(const JobRequest& request);

/// What a rank has checked and opened before it connects to the others.
struct Prepared {
  JobStart start;
  std::string reason{};  // why the backend is not a GPU
  TrainConfig config{};  // without the values that ranks agree on
  DataSet data;
  Imported imported{};
  Backend backend;
  AutoChoice chosen;
  Clock::time_point met{};  // when all ranks were connected
};

/// Checks and opens everything, ending with the plan of memory. Errors: Error{usage, config,
/// system}.
[[nodiscard]] Prepared prepare(JobStart start);

}  // namespace ds
