// `dslaunch k8s run` and `dslaunch k8s delete`: a job in a cluster, by calls of kubectl.
#pragma once

#include <chrono>
#include <string>

#include "launcher/manifest/manifest.h"

namespace ds::launcher {

/// Returns 256 random bits in hexadecimal digits.
std::string random_token();

/// Applies the manifest, shows the output of the root pod and of those that replace it, and returns
/// the job's exit code; 124 if no root pod starts within `wait`. Makes the Secret with the token if
/// there is none.
/// Errors:  Error{usage} for a kind whose pods never end; Error{config} with the words of the API
///          server.
int run_in_cluster(ManifestRequest request, std::chrono::seconds wait);

/// Deletes the job and what its manifest made for it. Returns kubectl's exit code.
int delete_in_cluster(const ManifestRequest& request);

}  // namespace ds::launcher
