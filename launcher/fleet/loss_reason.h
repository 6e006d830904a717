// Text for the loss of an agent: news of Fleet -> a reason that names its host. Pure.
#pragma once

#include <chrono>
#include <string>

#include "launcher/fleet/fleet.h"

namespace ds::launcher {

/// Returns "node-3: nothing heard for 8 s". `news`: of an agent's end; `host`: its host's name.
std::string loss_reason(const Fleet::News& news, const std::string& host);

/// Returns the last stage that the agent reached, as transport.h names it; may be empty.
std::string loss_stage(const Fleet::News& news);

/// Formats a duration: "10 s", "1.5 s", "10 min".
std::string span_text(std::chrono::milliseconds span);

}  // namespace ds::launcher
