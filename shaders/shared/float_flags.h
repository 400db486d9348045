// Flags of floats that are no finite numbers, as core/numbers/float_parts.hpp has them.
#ifndef GARUDA_SHADERS_SHARED_FLOAT_FLAGS_H
#define GARUDA_SHADERS_SHARED_FLOAT_FLAGS_H

#include "glsl_types.h"

GARUDA_SHADER_BEGIN

const uint kFloatNan = 1u;
const uint kFloatInfinite = 2u;
const uint kFloatNegativeInfinite = 4u;

GARUDA_SHADER_END

#endif
