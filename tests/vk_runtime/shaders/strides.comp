#version 450
// Buffers: 0, words. Invocation: words, all invocations of the dispatch apart. Writes: the number of each word's workgroup.
#extension GL_GOOGLE_include_directive : require
#include "linear_group.glsl"

layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Ids { uint ids[]; };
layout(push_constant) uniform Push { uint count; };

void main() {
#ifdef ALONG_X
  uint step = gl_NumWorkGroups.x;
#else
  uint step = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
#endif
  for (uint i = linear_group(); i < count; i += step) ids[i] = linear_group();
}
