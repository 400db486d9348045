// One pixel a group and lane. Declares bindings kBindIds.
#ifndef GARUDA_GROUP_BY_GROUP_PIXELS_GLSL
#define GARUDA_GROUP_BY_GROUP_PIXELS_GLSL

#include "../shared/group_by_layout.h"

layout(set = 0, binding = kBindIds, std430) readonly buffer Ids { uint ids[]; };

// The number of the row's group among those of the draw; false when it is not among them.
bool group_of(uint row, GroupsPush push, out uint group) {
  group = ids[row] - push.first_group;  // wraps past num_groups below first_group
  return group < push.num_groups;
}

uint group_pixel(uint group, uint row, GroupsPush push) { return group * push.lanes + row % push.lanes; }

#endif
