// One element a workgroup: texel i (row-major) of one layer of a two-channel image, first channel into values[i]; the storage
// image, of the same size, gets the second channel.
#version 450
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 1) in;
layout(push_constant, std430) uniform Push { uvec2 size; uint layer; };
layout(set = 0, binding = 0, std430) writeonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) uniform utexture2DArray source;
layout(set = 0, binding = 2, r32ui) uniform writeonly uimage2D target;
void main() {
  uint i = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (i >= size.x * size.y) return;
  ivec2 pixel = ivec2(i % size.x, i / size.x);
  uvec4 texel = texelFetch(source, ivec3(pixel, layer), 0);
  values[i] = texel.x;
  imageStore(target, pixel, uvec4(texel.y));
}
