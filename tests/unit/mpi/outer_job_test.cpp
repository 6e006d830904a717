// Tests which variables are the place of a process in the job of an MPI launcher.
#include "launcher/mpi/outer_job.h"

#include <doctest/doctest.h>

using namespace ds::launcher;

TEST_CASE("a rank's place in the job of another MPI launcher, and settings of the user") {
  for (const char* name :
       {"PMI_RANK", "PMI_FD", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "HYDI_CONTROL_FD",
        "PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI41", "OMPI_COMM_WORLD_RANK",
        "OMPI_UNIVERSE_SIZE", "OMPI_MCA_ess", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri",
        "OMPI_MCA_orte_ess_num_procs", "OMPI_MCA_pmix", "OMPI_MCA_num_procs", "PRTE_LAUNCHED",
        "MV2_COMM_WORLD_LOCAL_RANK", "I_MPI_PIN_MAPPING", "I_MPI_INFO_NP"})
    CHECK_MESSAGE(is_place_in_mpi_job(name), name);
  for (const char* name :
       {"PMIX_MCA_gds", "PMIX_INSTALL_PREFIX", "PMIX_PREFIX", "OMPI_MCA_btl",
        "OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_rmaps_base_oversubscribe", "MPIR_CVAR_PMI_VERSION", "OMPI_ALLOW_RUN_AS_ROOT",
        "MV2_USE_RDMA_CM", "I_MPI_FABRICS", "I_MPI_PIN_DOMAIN", "PATH", "PMI"})
    CHECK_FALSE_MESSAGE(is_place_in_mpi_job(name), name);
}
