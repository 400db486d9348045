// One element a workgroup: ids[linear workgroup] = linear workgroup + kOffset. Workgroups past `count` do nothing.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "linear_group.glsl"
layout(local_size_x = 1) in;
layout(constant_id = 3) const uint kOffset = 0;
layout(push_constant, std430) uniform Push { uint count; };
layout(set = 0, binding = 0, std430) writeonly buffer Ids { uint ids[]; };
void main() {
  uint group = linear_group();
  if (group >= count) return;
#ifdef DOUBLED
  ids[group] = 2u * group + kOffset;
#else
  ids[group] = group + kOffset;
#endif
}
