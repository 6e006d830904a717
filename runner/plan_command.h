// `dsrunner plan`: prints what a job would need, without running it.
#pragma once

#include "runner/plan_options.h"

namespace ds {

/// Prints the plan, or a program, to standard output. Errors: Error{config}, after the plan was
/// printed, if it does not fit; Error{usage, config} as load_train_config().
void run_plan(const PlanOptions& options);

}  // namespace ds
