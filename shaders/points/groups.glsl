// Linear workgroup and invocation numbers of dispatches that are spread over x and y.
#ifndef GARUDA_POINTS_GROUPS_GLSL
#define GARUDA_POINTS_GROUPS_GLSL

#include "../shared/pass_layout.h"

layout(local_size_x = 256) in;  // kGroupSize

uint linear_group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
uint linear_invocation() { return linear_group() * kGroupSize + gl_LocalInvocationID.x; }

#endif
