// Files know nothing of what lies above them.
#pragma once
#include "engine/comm/purpose.h"
