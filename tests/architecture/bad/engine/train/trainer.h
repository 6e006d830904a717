// An engine header with an include that does not exist and no pragma.
#include "engine/train/gone.h"
#include "trainer_local.h"
