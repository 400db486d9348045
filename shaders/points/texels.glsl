// Row-major numbers of the texels of an image whose width is a power of two.
#ifndef GARUDA_POINTS_TEXELS_GLSL
#define GARUDA_POINTS_TEXELS_GLSL

ivec2 texel_of(uint index, uint log2_width) {
  return ivec2(index & ((1u << log2_width) - 1u), index >> log2_width);
}

#endif
