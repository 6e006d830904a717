// One half of two folders that include each other.
#pragma once
#include "launcher/wire/cycle.h"
