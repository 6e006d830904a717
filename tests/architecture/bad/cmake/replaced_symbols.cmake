# A violation: the linker replaces a function of the C library.
target_link_options(ds_ssh_transport INTERFACE -Wl,--wrap=poll)
