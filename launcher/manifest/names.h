// Checks of names and values by Kubernetes' rules. Pure.
#pragma once

#include "launcher/manifest/manifest.h"

namespace ds::launcher {

/// Checks all values. Errors of all checks here:  Error{usage} naming the option.
void check_request(const ManifestRequest& request);

/// Check one value each. A checked job name may still be too long for its kind.
void check_job_name(const std::string& name);
void check_label(std::string_view option, const std::string& value);
/// Checks the name of a Secret or claim: labels separated by dots.
void check_object(std::string_view option, const std::string& value);
/// Checks the characters of an image reference; the cluster checks whether the image exists.
void check_image(const std::string& image);
/// Checks an amount of bytes such as 64Gi.
void check_quantity(std::string_view option, const std::string& text);
/// Checks a resource of nodes such as nvidia.com/gpu.
void check_resource(const std::string& text);
void check_claim(const PodClaim& claim);
void check_variable(const std::string& name, const std::string& value);

}  // namespace ds::launcher
