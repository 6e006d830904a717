// PMIx events on their way between nodes: packed by the library on one, given to the clients of
// another.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <string>

namespace ds::launcher {

/// Returns the event as bytes; empty if the library cannot pack it.
std::string pack_notice(pmix_status_t code, const pmix_proc_t& source, pmix_data_range_t range,
                        const pmix_info_t* info, std::size_t count);

/// Gives an event of pack_notice() to the clients of this server. Does nothing for other bytes.
void notify_clients(const std::string& packed);

}  // namespace ds::launcher
