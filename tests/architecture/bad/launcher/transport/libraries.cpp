// A launcher file that includes libraries of others.
#include <CLI/App.hpp>
#include <cuda_runtime.h>
#include <gloo/context.h>
#include <libssh/libssh.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <toml++/toml.h>
