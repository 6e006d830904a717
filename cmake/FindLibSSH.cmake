# Finds libssh and defines ds::ssh, ds::ssh_crypto (the libcrypto that goes with it) and ds::ssh_tls (its libssl).
# Links the static libraries where they exist: dslaunch and its agents start 3 ms sooner, because the shared libssh
# loads the five libraries of Kerberos. Debian has no static Kerberos; launcher/transport/libssh/gss_stubs.cpp stands in.
include(FindPackageHandleStandardArgs)
option(DS_STATIC_SSH "Link libssh and libcrypto statically where they can be found" ON)
find_path(LibSSH_INCLUDE_DIR libssh/libssh.h)
find_library(LibSSH_LIBRARY ssh)
find_library(LibSSH_STATIC_LIBRARY libssh.a)
find_library(LibSSH_STATIC_CRYPTO libcrypto.a)
find_library(LibSSH_STATIC_TLS libssl.a)
find_library(LibSSH_STATIC_ZLIB libz.a)
find_package_handle_standard_args(LibSSH REQUIRED_VARS LibSSH_LIBRARY LibSSH_INCLUDE_DIR)
if(LibSSH_FOUND AND NOT TARGET ds::ssh)
  if(DS_STATIC_SSH AND LibSSH_STATIC_LIBRARY AND LibSSH_STATIC_CRYPTO AND LibSSH_STATIC_TLS
     AND LibSSH_STATIC_ZLIB)
    set(LibSSH_IS_STATIC TRUE)
    add_library(ds::ssh_crypto STATIC IMPORTED)
    set_target_properties(ds::ssh_crypto PROPERTIES IMPORTED_LOCATION ${LibSSH_STATIC_CRYPTO}
      INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
    add_library(ds::ssh_tls STATIC IMPORTED)
    set_target_properties(ds::ssh_tls PROPERTIES IMPORTED_LOCATION ${LibSSH_STATIC_TLS}
      INTERFACE_LINK_LIBRARIES ds::ssh_crypto)
    add_library(ds::ssh STATIC IMPORTED)
    set_target_properties(ds::ssh PROPERTIES IMPORTED_LOCATION ${LibSSH_STATIC_LIBRARY}
      INTERFACE_LINK_LIBRARIES "ds::ssh_crypto;${LibSSH_STATIC_ZLIB}")
  else()
    set(LibSSH_IS_STATIC FALSE)
    add_library(ds::ssh_crypto INTERFACE IMPORTED)
    target_link_libraries(ds::ssh_crypto INTERFACE OpenSSL::Crypto)
    add_library(ds::ssh_tls INTERFACE IMPORTED)
    target_link_libraries(ds::ssh_tls INTERFACE OpenSSL::SSL)
    add_library(ds::ssh INTERFACE IMPORTED)
    target_link_libraries(ds::ssh INTERFACE ${LibSSH_LIBRARY})
  endif()
  target_include_directories(ds::ssh SYSTEM INTERFACE ${LibSSH_INCLUDE_DIR})
endif()
