// Says which rows have a value. Declares binding kBindValidity.
#ifndef GARUDA_GROUP_BY_VALIDITY_GLSL
#define GARUDA_GROUP_BY_VALIDITY_GLSL

#include "../shared/group_by_layout.h"

layout(constant_id = kSpecNulls) const uint kNulls = 0u;

layout(set = 0, binding = kBindValidity, std430) readonly buffer Validity { uint validity[]; };

bool is_valid(uint row) { return kNulls == 0u || ((validity[row / 32u] >> (row % 32u)) & 1u) != 0u; }

#endif
