// Stands in for Kerberos in a static libssh: Debian has no static libgssapi, and dslaunch never
// asks for that method. Linked only where libssh is static (cmake/FindLibSSH.cmake). Every call
// fails with GSS_S_FAILURE.
namespace {
constexpr unsigned int kFailure = 13U << 16;
}

extern "C" {
unsigned int gss_accept_sec_context() { return kFailure; }
unsigned int gss_acquire_cred() { return kFailure; }
unsigned int gss_add_oid_set_member() { return kFailure; }
unsigned int gss_create_empty_oid_set() { return kFailure; }
unsigned int gss_display_name() { return kFailure; }
unsigned int gss_display_status() { return kFailure; }
unsigned int gss_get_mic() { return kFailure; }
unsigned int gss_import_name() { return kFailure; }
unsigned int gss_indicate_mechs() { return kFailure; }
unsigned int gss_init_sec_context() { return kFailure; }
unsigned int gss_inquire_cred() { return kFailure; }
unsigned int gss_inquire_cred_by_mech() { return kFailure; }
unsigned int gss_release_buffer() { return kFailure; }
unsigned int gss_release_cred() { return kFailure; }
unsigned int gss_release_name() { return kFailure; }
unsigned int gss_release_oid_set() { return kFailure; }
unsigned int gss_test_oid_set_member() { return kFailure; }
unsigned int gss_verify_mic() { return kFailure; }
void* GSS_C_NT_HOSTBASED_SERVICE = nullptr;
void* GSS_C_NT_USER_NAME = nullptr;
}
