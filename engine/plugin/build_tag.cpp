// The tag, from a header that every build writes anew when a source of the engine changed.
#include "engine/plugin/build_tag.h"

#include <build_tag_text.h>  // in the build folder

namespace ds {

const char* build_tag() { return DS_BUILD_TAG; }

}  // namespace ds
