// What Kubernetes takes for names and values, and what is said when it would not. Pure.
#pragma once

#include "launcher/manifest/manifest.h"

namespace ds::launcher {

/// Errors of all:  Error{usage} naming the option.
void check_wish(const ManifestWish& wish);

/// One value each; the name of a job may still be too long for its kind.
void check_job_name(const std::string& name);
void check_label(std::string_view option, const std::string& value);
/// A Secret, a claim: labels with dots between them.
void check_object(std::string_view option, const std::string& value);
/// The characters of a reference are few; what it names is for the cluster to find.
void check_image(const std::string& image);
/// Bytes, as 64Gi.
void check_quantity(std::string_view option, const std::string& text);
/// A resource of nodes, as nvidia.com/gpu.
void check_resource(const std::string& text);
void check_claim(const PodClaim& claim);
void check_variable(const std::string& name, const std::string& value);

/// The longest name that this kind makes of the job's own, without the job's own: "-worker-15".
std::string longest_suffix(const ManifestWish& wish);

}  // namespace ds::launcher
