// What the PMIx server tells its clients of the job: nodes, ranks and programs.
#pragma once

#include <string>
#include <vector>

#include "launcher/pmix/info_list.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

/// Returns the keys of PMIx_server_register_nspace() for the node of `spec`: the realms of job,
/// node, application and process of PMIx Standard 4.0, chapter 16. `folder`: for the files of
/// ranks. Errors:  Error{system}: the library cannot express the map.
InfoList job_info(const Spec& spec, const std::string& folder);

/// Returns ranks as PMIx lists them: "0,1,4".
std::string rank_list(const std::vector<std::int32_t>& ranks);

}  // namespace ds::launcher
