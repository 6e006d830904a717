// The other half of two folders that include each other.
#pragma once
#include "launcher/hosts/cycle.h"
