// Pieces of 24 bits, from the top, of the values whose minimum and maximum is sought. Declares binding kBindPieces; needs
// values.glsl.
#ifndef GARUDA_GROUP_BY_EXTREME_PIECES_GLSL
#define GARUDA_GROUP_BY_EXTREME_PIECES_GLSL

#include "../shared/group_by_layout.h"

layout(set = 0, binding = kBindPieces, std430) PIECES_ACCESS buffer Pieces { uint pieces[]; };

const uint kNumPieces = (kValueWords * 32u + kPieceBits - 1u) / kPieceBits;

// Piece `number` of `value`; zeros follow the lowest bit.
uint piece_of(uvec4 value, uint number) {
  int position = int(kValueWords * 32u) - int(kPieceBits * (number + 1u));
  if (position < 0) return (value.x << uint(-position)) & 0xffffffu;
  uint word = uint(position) / 32u;
  uint bits = uint(position) % 32u;
  uint piece = value[word] >> bits;
  if (bits > 8u) piece |= value[word + 1u] << (32u - bits);
  return piece & 0xffffffu;
}

// Pieces of the minimum are those of the maximum of the complement.
uint first_piece(uint group, bool is_max) { return (2u * group + (is_max ? 1u : 0u)) * kNumPieces; }

#endif
