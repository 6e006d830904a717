// build_tag(), from a header that the build rewrites when a source of the engine changes.
#include "engine/library/build_tag.h"

#include <build_tag_text.h>  // in the build folder

namespace ds {

const char* build_tag() { return DS_BUILD_TAG; }

}  // namespace ds
