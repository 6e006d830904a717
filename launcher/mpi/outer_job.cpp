#include "launcher/mpi/outer_job.h"

#include <algorithm>
#include <iterator>

namespace ds::launcher {

bool is_place_in_mpi_job(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"PMI_",
                                            "PMIX_",
                                            "OMPI_COMM_WORLD_",
                                            "OMPI_WORLD_",
                                            "OMPI_MCA_ess_base_",
                                            "OMPI_MCA_orte_ess_",
                                            "MV2_COMM_WORLD_",
                                            "HYDRA_BSTRAP_",
                                            "I_MPI_INFO_"};
  constexpr std::string_view kNames[] = {"MPI_LOCALRANKID",
                                         "MPI_LOCALNRANKS",
                                         "HYDI_CONTROL_FD",
                                         "PALS_LOCAL_RANKID",
                                         "I_MPI_HYDRA_UUID",
                                         "I_MPI_PIN_INFO",
                                         "I_MPI_PIN_MAPPING",
                                         "PRTE_LAUNCHED",
                                         "OMPI_UNIVERSE_SIZE",
                                         "OMPI_NUM_APP_CTX",
                                         "OMPI_APP_CTX_NUM_PROCS",
                                         "OMPI_FIRST_RANKS",
                                         "OMPI_COMMAND",
                                         "OMPI_ARGV",
                                         "OMPI_FILE_LOCATION",
                                         "OMPI_MCA_ess",
                                         "OMPI_MCA_pmix",
                                         "OMPI_MCA_initial_wdir",
                                         "OMPI_MCA_num_procs",
                                         "OMPI_MCA_orte_app_num",
                                         "OMPI_MCA_orte_bound_at_launch",
                                         "OMPI_MCA_orte_hnp_uri",
                                         "OMPI_MCA_orte_jobfam_session_dir",
                                         "OMPI_MCA_orte_launch",
                                         "OMPI_MCA_orte_local_daemon_uri",
                                         "OMPI_MCA_orte_num_nodes",
                                         "OMPI_MCA_orte_precondition_transports",
                                         "OMPI_MCA_orte_top_session_dir"};
  // PMIX_MCA_gds, PMIX_INSTALL_PREFIX
  if (name.starts_with("PMIX_MCA_") || name.ends_with("_PREFIX")) return false;
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kPrefixes, [&](auto begin) { return name.starts_with(begin); });
}

}  // namespace ds::launcher
