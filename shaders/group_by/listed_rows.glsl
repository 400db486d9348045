// The rows of a pass: all of the slice, or those of a list. Declares binding kBindRows.
#ifndef GARUDA_GROUP_BY_LISTED_ROWS_GLSL
#define GARUDA_GROUP_BY_LISTED_ROWS_GLSL

#include "../shared/group_by_layout.h"

layout(constant_id = kSpecListed) const uint kListed = 0u;

layout(set = 0, binding = kBindRows, std430) readonly buffer Rows { uint rows[]; };

uint listed_row(uint position) { return kListed == 0u ? position : rows[position]; }

#endif
