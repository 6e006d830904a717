// The functions that the PMIx library calls to publish names, to look them up and to withdraw them.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <chrono>
#include <cstddef>

namespace ds::launcher {

/// Returns the PMIX_TIMEOUT of a request; 0: none.
std::chrono::seconds limit_of(const pmix_info_t* info, std::size_t count);

/// As pmix_server_publish_fn_t, pmix_server_lookup_fn_t and pmix_server_unpublish_fn_t. All ranges
/// mean the job. PMIX_PERSIST_FIRST_READ is kept; otherwise names last until they are withdrawn.
pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t* info, std::size_t count,
                         pmix_op_cbfunc_t done, void* call);
pmix_status_t on_lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t* info,
                        std::size_t count, pmix_lookup_cbfunc_t found, void* call);
pmix_status_t on_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t* info,
                           std::size_t count, pmix_op_cbfunc_t done, void* call);

}  // namespace ds::launcher
