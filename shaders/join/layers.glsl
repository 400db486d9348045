// The hash images H_i as layers of one array image. Declares binding kBindLayers; needs key_address.glsl and
// GL_EXT_samplerless_texture_functions.
#ifndef GARUDA_JOIN_LAYERS_GLSL
#define GARUDA_JOIN_LAYERS_GLSL

#include "../shared/join_layout.h"
#include "../points/texels.glsl"

layout(set = 0, binding = kBindLayers) uniform utexture2DArray layers;

uvec4 load_texel(uint pixel, uint layer, uint log2_width) {
  return texelFetch(layers, ivec3(texel_of(pixel, log2_width), layer), 0);
}

bool texel_matches(uvec4 texel, Key key) {
  return (texel.r & kOccupied) != 0u && texel.g == key.low && (kKeyWords == 1u || texel.b == key.high);
}

#endif
