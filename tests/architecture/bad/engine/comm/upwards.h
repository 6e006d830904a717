// An engine header that includes the runner, Asio and Gloo outside of its folder.
#pragma once
#include <asio.hpp>
#include <gloo/context.h>

#include "runner/contract.h"
